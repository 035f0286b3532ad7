"""The exit codes."""

FAILED = 1
WRONG_USAGE = 2
QUARANTINED = 3  # done, but under --strict some input was of no use
CONTRADICTED = 4  # done, and `magic verify` found logs that contradict themselves, but no damage
INTERRUPTED = 130
