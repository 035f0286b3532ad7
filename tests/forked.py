"""Commands in processes of their own that are forked, with the large libraries loaded already.

For tests of what a process loads only once, such as packages: to start it anew takes twice as long.
"""

import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

_FORKING = get_context("forkserver")
# No module of ours is among them, since some look for packages when they are imported.
_FORKING.set_forkserver_preload(["polars", "duckdb", "numpy", "pyarrow.dataset", "deltalake"])


class Told(NamedTuple):
    """What came of a command or a program."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """What it printed, if it is well."""
        assert self.code == 0, self.err
        return self.out

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that it printed as JSON."""
        return json.loads(self.text)

    @property
    def refusal(self) -> str:
        """What it says, if it fails as it should: one line."""
        assert (self.code, self.out) == (1, ""), self.err
        (line,) = self.err.splitlines()
        return line


def commands(site: Path, *asked: Sequence[object], with_queries_apart: bool = False) -> list[Told]:
    """What came of commands, one after the other in a process with packages in the folder `site`.

    It is in the folder that has that one. Queries have a process of their own only if asked for.
    """
    words = [[*map(str, command)] for command in asked]
    return _forked(_run_commands, site, words, with_queries_apart)


def program(site: Path, code: str) -> str:
    """What the lines of Python print, in such a process."""
    return _forked(_run_program, site, code)


def _forked(run: Any, site: Path, *asked: object) -> Any:
    with _FORKING.Pool(1, _begin, [site, dict(os.environ)]) as pool:
        return pool.apply(run, asked)


def _begin(site: Path, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(site.parent)
    sys.path.insert(0, str(site))


def _run_commands(asked: Sequence[Sequence[str]], with_queries_apart: bool) -> list[Told]:
    from pipeline import query_processes
    from pipeline.cli import main

    if not with_queries_apart:
        query_processes.start_python_process = lambda *of, **more: import_module("sandboxes").start(
            *of, **more
        )
    told = []
    for command in asked:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err):
            code = main([*command])
        for stream in (out, err):
            stream.flush()
        told.append(Told(code, *(one.buffer.getvalue().decode() for one in (out, err))))
    return told


def _run_program(code: str) -> str:
    with redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    return out.getvalue()
