"""`magic view`: a server of the pages, for a browser on this machine."""
