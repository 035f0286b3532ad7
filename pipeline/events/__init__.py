"""The event tables: their contracts, and games made into their rows."""
