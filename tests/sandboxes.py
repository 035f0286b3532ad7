"""Queries answered in this process, for tests of what is done with the rows."""

import io
import pickle
from typing import Any

from pipeline.errors import PipelineError
from pipeline.lake import open_lake
from pipeline.lake_methods import LakeWithMethods, with_registered_metrics


class Here:
    """A process and the connection to it in one, which answers at once.

    Question, rows and error come as they would from there; time and memory have no limits. Before
    the question, it says that it is ready.
    """

    _error: PipelineError | None = None

    def send(self, question: tuple[Any, ...]) -> None:
        lake, query, parameters, memory, metrics = pickle.loads(pickle.dumps(question))
        self._rows, self._error = io.BytesIO(), None
        try:
            opened = open_lake(lake, None, LakeWithMethods) if isinstance(lake, str) else lake
            with_registered_metrics(opened, metrics).sql(
                query, parameters=parameters, memory=memory
            ).write_ipc_stream(self._rows)
        except PipelineError as error:
            self._error = pickle.loads(pickle.dumps(error))

    def poll(self, _seconds: float) -> bool:
        return True

    def recv(self) -> PipelineError | None:
        return self._error

    def recv_bytes(self) -> bytes:
        return self._rows.getvalue()

    def nothing(self) -> None:
        """There is no process to end, and no file to close."""

    kill = wait = close = nothing


def start(_program: str, **_environment: str) -> tuple[Here, Here]:
    """In place of `pipeline.processes.start_python_process`, which takes long."""
    here = Here()
    return here, here
