"""The report: one HTML file that opens from disk, and tables for README and terminal."""

from __future__ import annotations

from eval.report.render import render_report
from eval.report.tables import markdown_table, terminal_table

__all__ = ["markdown_table", "render_report", "terminal_table"]
