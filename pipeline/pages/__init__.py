"""What pages show: typed content from the Python API, and the templates that make HTML of it."""
