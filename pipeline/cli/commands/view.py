"""`magic view`: the lake in a browser."""

from pipeline.cli import options, terminal
from pipeline.cli.options import flag, option
from pipeline.extras import check_extra

NEEDED = ("starlette", "uvicorn", "jinja2", "altair", "vl_convert")


def view(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    port: int = option("PORT", "Port; 0: any free one.", min=0, max=65535, default=8765),
    host: str = option("HOST", "Address to listen on.", default="127.0.0.1"),
    browser: bool = flag("--browser/--no-browser", "Open the browser.", default=True),
    metric_file: options.MetricFilesOption = None,
) -> None:
    """Look at the lake in a browser: leaderboard, evidence, transcripts, SQL.

    From each value you can click to the rows that were counted and to their messages. A new ingest
    shows without a restart. The server can be reached only from this machine; with another --host,
    the printed address has a token that is needed to see anything. Ctrl-C ends it.

    \b
    Examples:
      magic view
      magic view --lake lake/ --port 9000 --no-browser
    """
    check_extra("`magic view`", "view", NEEDED)
    from pipeline.answers import with_metrics
    from pipeline.api import open_lake
    from pipeline.metrics.known import known
    from pipeline.server.serve import serve

    serve(
        with_metrics(open_lake(lake), known()),
        name=lake,
        host=host,
        port=port,
        opens_browser=browser,
        say=terminal.note,
    )
