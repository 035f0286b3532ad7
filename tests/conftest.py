"""What all tests share: the shared data folder, the slow and long tests, hypothesis's profiles."""

import gc
import os
import shutil
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

TOP = Path(__file__).resolve().parent.parent
SHARED = (TOP / os.environ.get("MAGIC_SHARED", "../shared")).resolve()
NO_SHARED = "no shared data"
NO_CHROMIUM = "no Chromium for the browser tests"
_SECONDS, _SLOW_SECONDS = 0.2, 2.0  # that a test takes, unless its mark has `seconds`

# A time limit for one example would make a slow machine's run red. CI tries the same examples every
# time; elsewhere each run tries new ones and keeps those that failed.
settings.register_profile(
    "fast", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("fast"), derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "fast"))


# Half of the time to collect all tests would go to looking for garbage among them.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


# A shell's background jobs, and `nohup`, ignore these, and so would every program that tests start.
for _ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_ignored) is signal.SIG_IGN:
        is_int = _ignored is signal.SIGINT
        signal.signal(_ignored, signal.default_int_handler if is_int else signal.SIG_DFL)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data: $MAGIC_SHARED, or `../shared` beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"{NO_SHARED}: {SHARED} is not a folder; name it in $MAGIC_SHARED")
    return SHARED


@pytest.fixture(scope="session")
def sample_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the games that come with the project: to be read or copied, not to be written."""
    from pipeline.ingest import ingest

    place = tmp_path_factory.mktemp("sample") / "lake"
    ingest(TOP / "data" / "sample" / "results", place)
    return place


@pytest.fixture(scope="session")
def lake_without_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an ingest of a file that is no log leaves."""
    from pipeline.ingest import ingest

    folder = tmp_path_factory.mktemp("no_games")
    (folder / "truth.json").write_text("[]")
    ingest(folder / "truth.json", folder / "lake")
    return folder / "lake"


@pytest.fixture(scope="session")
def public_lake(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A lake of the public games, to be read and not to be written."""
    from pipeline.ingest import ingest
    from pipeline.lake import open_lake

    place = tmp_path_factory.mktemp("public") / "lake"
    ingest(shared / "corpus" / "magic-public.tar.zst", place)
    return open_lake(place)


@pytest.fixture(scope="session")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A lake of few games of gpt-4, and of cohere by a second ingest: not to be written."""
    from rawlogs import write_logs

    from pipeline import open_lake
    from pipeline.ingest import ingest

    top = tmp_path_factory.mktemp("two")
    for model in ("gpt-4", "cohere"):
        ingest(write_logs(top / model, model), top / "lake", jobs=1)
    return open_lake(top / "lake")


@pytest.fixture
def queries_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets commands answer queries in this process, since one of its own takes long to start."""
    from sandboxes import start

    monkeypatch.setattr("pipeline.query_processes.start_python_process", start)


@pytest.fixture(scope="session")
def lake_of_formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the small logs of every format: to be read, not to be written. Each is at a path
    such as `aiwolf/0.log`."""
    from format_logs import logs_in_files

    from pipeline.formats import available_formats
    from pipeline.ingest import ingest

    top = tmp_path_factory.mktemp("formats")
    for format_ in available_formats():
        folder = top / "logs" / format_.NAME
        folder.mkdir(parents=True)
        for number, (file, log) in enumerate(logs_in_files(format_.NAME)):
            (folder / file.format(number)).write_bytes(log)
    ingest(top / "logs", top / "lake", model="m", jobs=1)
    return top / "lake"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium: $CHROMIUM, which `.ci/run` sets, or the first on the path."""
    if "CHROMIUM" in os.environ:
        wanted = os.environ["CHROMIUM"]
        return shutil.which(wanted) or pytest.fail(f"$CHROMIUM: {wanted} is not a program")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or pytest.skip(f"{NO_CHROMIUM}: install it, or name it in $CHROMIUM")


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A Chromium that Playwright drives."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        yield found
        found.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption("--long", action="store_true", help="run all tests, also those marked long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    skipped = {
        "long": not config.getoption("--long"),
        "slow": not (config.getoption("--slow") or config.getoption("--long")),
    }
    _mark_all_but_some(items)
    for item in items:
        for mark, is_skipped in skipped.items():
            if is_skipped and mark not in config.getoption("-m") and item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"{mark}: run with --{mark}"))
    if hasattr(config, "workerinput"):
        _dearest_first(items)


def _mark_all_but_some(items: list[pytest.Item]) -> None:
    """Marks as slow, or of a slow test as long, the cases that `some(n)` leaves out.

    Of `some(n, m)` only m of them are slow, and the others long.

    Checksums of their names choose them, so that of several parameters each has many of its values.
    """
    cases = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("some"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_test in cases.values():
        marker = of_test[0].get_closest_marker("some")
        assert marker is not None
        of_test.sort(key=lambda item: crc32(item.nodeid.encode()))
        n_marked, n_rarer = (*marker.args, len(of_test))[:2]
        for place, item in enumerate(of_test[n_marked:]):
            is_long = item.get_closest_marker("slow") or place >= n_rarer
            item.add_marker(pytest.mark.long if is_long else pytest.mark.slow(seconds=_SECONDS))


def _dearest_first(items: list[pytest.Item]) -> None:
    """Puts what takes longest first, so that no worker is left with one in the end."""
    cost = defaultdict[str, float](float)
    for item in items:
        if not item.get_closest_marker("skip"):
            slow = item.get_closest_marker("slow")
            seconds = slow.kwargs.get("seconds", _SLOW_SECONDS) if slow else _SECONDS
            cost[_dealt(item.nodeid)] += seconds
    items.sort(key=lambda item: -cost[_dealt(item.nodeid)])


def _dealt(nodeid: str) -> str:
    """What a test is dealt out with: its module, or all of Spark, which share a cluster."""
    return "spark" if nodeid.startswith("tests/spark/") else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals out tests by module, so that a lake that the tests of one share is not made twice.

    Those of Spark are together: they share a cluster, which is dearer still.
    """
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # `_dearest_first` knows more than numbers of tests

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _dealt(nodeid)

    return Scheduler(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped, and how to run it: a line for the marks, and one for what is not there."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    marked = {
        mark: n for mark in ("slow", "long") if (n := reasons.pop(f"{mark}: run with --{mark}", 0))
    }
    lines = [
        ", ".join(f"{n} {mark} (run with --{mark})" for mark, n in marked.items()),
        "; ".join(f"{n}: {reason}" for reason, n in reasons.items()),
    ]
    if any(lines):
        terminalreporter.section("skipped, and how to run it", yellow=True)
        for line in filter(None, lines):
            terminalreporter.line(line)
