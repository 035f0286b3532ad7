"""The exit codes."""

FAILED = 1
WRONG_USAGE = 2
QUARANTINED = 3  # done, but under --strict some input was of no use
INTERRUPTED = 130
