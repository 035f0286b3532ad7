"""The exit codes of `magic`, which README and the help list."""

FAILED = 1
WRONG_USAGE = 2
QUARANTINED = 3  # The command finished, but some input was quarantined and --strict was set.
CHECK_FAILED = 4  # A check found a regression, missing games, an invalid document or damage.
CONTRADICTED = 5  # `magic verify` found no damage, but logs that contradict themselves.
INTERRUPTED = 130
