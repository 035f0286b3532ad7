"""The exit codes."""

FAILED = 1
WRONG_USAGE = 2
QUARANTINED = 3  # done, but under --strict some input was of no use
CHECK_FAILED = 4  # done, and the check found a regression, a gap, an invalid document, damage
CONTRADICTED = 5  # done, and `magic verify` found logs that contradict themselves, but no damage
INTERRUPTED = 130
