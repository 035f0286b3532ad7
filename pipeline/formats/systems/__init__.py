"""Log formats of other systems, one module or folder each. Any of them can be removed alone."""
