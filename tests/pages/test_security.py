"""Who may ask the server what, and what every answer says to the browser."""

import shutil
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers import TOP, Served, check_headers, here, start

from pipeline import __version__
from pipeline.cli import main
from pipeline.ingest import ingest
from pipeline.plugins import install_command
from pipeline.server import browser_host

SLOW = "SELECT count(*) FROM range(100000000) a, range(100000) b".replace(" ", "+")


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/nothing", "/static/style.css", "/static/nothing", "/tables.json"),
        *("/tables.csv", "/game?game=x", "/tables?unknown=1", "/static/../app.py"),
    ],
)
def test_every_answer_has_the_headers(served: Served, path: str) -> None:
    """Those of every page are looked at in `test_hostile_pages`, with what the policy refuses."""
    answer = served.get(path)
    assert answer.status in (200, 303, 400, 404)
    check_headers(answer)


def test_other_hosts_are_refused(served: Served) -> None:
    """A name that an enemy points at this machine is another host to the browser."""
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1:1", "", "localhost"):
        answer = served.get("/leaderboard", Host=host)
        assert answer.status == 421
        assert "content-security-policy" in answer.headers
    assert served.get("/leaderboard", Host=f"localhost:{served.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "no-cors", "Sec_Fetch_Dest": "script"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_other_sites_are_refused(served: Served, headers: dict[str, str]) -> None:
    answer = served.get("/leaderboard.json", **headers)
    assert answer.status == 403
    assert "rank" not in answer.text
    assert "content-security-policy" in answer.headers


def test_a_link_from_another_site_leads_here_but_runs_no_query(served: Served) -> None:
    led = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    led |= {"Sec_Fetch_Dest": "document"}
    assert served.get("/leaderboard", **led).status == 200
    answer = served.get("/sql?query=SELECT+42+AS+answer", **led)
    assert answer.status == 403
    assert 'href="/sql?query=SELECT+42+AS+answer"' in answer.text
    assert 'id="result"' not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_reading(served: Served, method: str) -> None:
    assert served.get("/leaderboard", method).status == 405


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../../app.py", "/static/%2e%2e/%2e%2e/page.py", "/static/..%2f..%2fpage.py"),
        *("/../../../etc/passwd", "/static//etc/passwd", "/static/%00", "/%2e%2e/x", "/page"),
    ],
)
def test_no_file_of_ours_is_read(served: Served, path: str) -> None:
    answer = served.get(path)
    assert answer.status == 404
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_too_long_an_address_is_refused(served: Served) -> None:
    assert served.get(f"/leaderboard?where={'x' * 20_000}").status == 414
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(b"GET /" + b"x" * 300_000)
        connection.settimeout(10)
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert served.get("/leaderboard").status == 200


@pytest.mark.slow
def test_slow_queries_block_nothing_and_end_by_ctrl_c(lake: Path) -> None:
    served = start(lake)
    assert served.get("/leaderboard").status == 200
    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(served.get, f"/sql?query={SLOW}+WHERE+a.range>{i}") for i in range(3)]
        time.sleep(2)
        began = time.monotonic()
        assert served.get("/leaderboard?sort=judgement").status == 200
        assert served.get("/games").status == 200
        assert time.monotonic() - began < 6
        assert not any(one.done() for one in slow)
        began = time.monotonic()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(10) == 0
        assert time.monotonic() - began < 3  # the queries have both processors
        with served.process.stderr as said:
            assert said.read() == ""
        assert all(one.exception(5) or one.result().status in (500, 503) for one in slow)


def test_beyond_this_machine_a_token_is_needed(beyond: tuple[Served, str]) -> None:
    served, token = beyond
    assert len(token) > 20
    assert "0.0.0.0" not in served.address
    name = f"magic-token-{served.port}"
    assert served.get("/leaderboard", Cookie=f"{name}={token}").status == 200
    for path in ("/", "/?token=wrong", "/leaderboard", "/games.json", "/nothing", "/static/x"):
        for cookie in ("", f"{name}=x", f"magic-token={token}", f"magic-token-1={token}"):
            answer = served.get(path, Cookie=cookie)
            assert answer.status == 401
            assert __version__ not in answer.text
            assert str(served.lake) not in answer.text


def test_a_link_with_a_token_keeps_its_target(beyond: tuple[Served, str]) -> None:
    served, token = beyond
    for path, target in [
        ("/?", "/"),
        ("/games?model=a%20b&game_type=all&", "/games?model=a+b&game_type=all"),
        ("//evil.example/?", "/evil.example/"),
    ]:
        led = served.get(f"{path}token={token}")
        assert (led.status, led.headers["location"]) == (303, target)
        cookie = led.headers["set-cookie"].lower()
        assert cookie.startswith(f"magic-token-{served.port}=")
        assert "httponly" in cookie
        assert "samesite=" in cookie


@pytest.mark.slow
@pytest.mark.usefixtures("queries_here")
def test_without_words_of_the_browser_a_query_is_asked_about(beyond: tuple[Served, str]) -> None:
    """On plain http, browsers do not say from where a link led here."""
    served, token = beyond
    cookie = f"magic-token-{served.port}={token}"
    here, there = f"http://127.0.0.1:{served.port}/sql", "http://evil.example/"
    for page in ("sql", "sql.json", "sql.csv", "search"):
        path = f"/{page}?query=SELECT+42+AS+x" if "sql" in page else f"/{page}?words=no+such+words"
        for led in ({}, {"Referer": there}, {"Referer": "http://["}, {"Referer": "about:x"}):
            assert served.get(path, Cookie=cookie, **led).status == 403
        assert served.get(path, Cookie=cookie, Referer=here).status == 200
        assert served.get(path, Authorization=f"Bearer {token}").status == 200
        assert served.get(path, Authorization="Bearer x").status == 401
    asked = served.get("/sql?query=SELECT+42+AS+x", Cookie=cookie)
    assert "Run this?" in asked.text
    assert served.get("/sql", Cookie=cookie).status == 200


@pytest.mark.parametrize(
    ("host", "shown"), [("10.1.2.3", "10.1.2.3"), ("0.0.0.0", None), ("::", None)]
)
def test_the_address_can_be_opened(host: str, shown: str | None) -> None:
    assert browser_host(host) == shown if shown else browser_host(host) not in ("0.0.0.0", "::", "")


@pytest.mark.slow
def test_another_state_and_another_lake_show_without_a_restart(tmp_path: Path) -> None:
    """Also if both lakes have as many ingests: nothing of the first one is left in a cache."""
    sample = TOP / "data" / "sample" / "results"
    ingest(sample / "undercover", tmp_path / "lake")
    with here(tmp_path / "lake") as served:
        before = served.json("/leaderboard.json")
        assert before["ingest"] == 1
        ingest(sample / "chameleon", tmp_path / "lake")
        after = served.json("/leaderboard.json")
        assert after["ingest"] == 2
        assert after["rows"] != before["rows"]
        assert "after ingest 2" in served.get("/games").text
        shutil.rmtree(tmp_path / "lake")
        for game_type in ("public_good", "chameleon"):
            ingest(sample / game_type, tmp_path / "lake")
        types = {row["game_type"] for row in served.json("/games.json")["rows"]}
        assert types == {"public_good", "chameleon"}


def test_what_cannot_be_served_is_said(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["view", "--lake", str(tmp_path / "none"), "--no-browser"]) == 1
    assert "no such lake" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["view", "--lake", str(lake), "--no-browser", "--port", port]) == 1
    assert "choose another --port" in capsys.readouterr().err
    monkeypatch.setattr("pipeline.plugins.find_spec", lambda name: None)
    assert main(["view", "--lake", str(lake), "--no-browser"]) == 1
    assert install_command("view") in capsys.readouterr().err
