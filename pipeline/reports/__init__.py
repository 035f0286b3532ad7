"""Reports on a lake: rankings, comparisons, completeness, games, documents and their like.

Each report is a function of a lake, which becomes a method of `Lake`, a command and a page. Depends
on `pipeline.metrics` and `pipeline.statistics`; used by `pipeline.lake_methods`, the CLI and the
pages.
"""
