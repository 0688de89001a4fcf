"""Measuring adherence while a model trains."""
