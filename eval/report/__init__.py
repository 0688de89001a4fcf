"""The report: one HTML file that opens from disk, and tables for README, model card and terminal."""

from __future__ import annotations

from eval.report.markdown import markdown_tables
from eval.report.page.render import render_report
from eval.report.tables.rates import terminal_table

__all__ = ["markdown_tables", "render_report", "terminal_table"]
