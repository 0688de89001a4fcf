"""Templates, style and scripts of the report's page: package data, read by `eval.report.page.render`."""
