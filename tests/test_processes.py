"""Processes of our own."""

import signal
import time

from pipeline import processes

SAY = """
from pipeline.processes import theirs
import signal
theirs().send(signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_ctrl_c_is_for_us_alone() -> None:
    """From its first instant on, while it still starts, a process has no traceback to show."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    process, connection = processes.start(SAY)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before == set()
    with connection:
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        assert connection.recv() == {signal.SIGINT}
    assert process.wait(60) == 0
