"""The version of this package, for all of its layers."""

__version__ = "0.1.0"
