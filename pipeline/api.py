"""The class `Lake`, the Python interface of the package, and the class `Game`.

`pipeline.open_lake` returns a `Lake`. Both classes add plots, pages and their display in notebooks
to what `pipeline.lake_methods` and `pipeline.reports` compute.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import lake as stored, plots
from pipeline.atomic_files import atomic_write
from pipeline.errors import PipelineError
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics import DEFAULT_CONFIDENCE, DEFAULT_N_GAMES, PAPER
from pipeline.metrics.registry import lake_method
from pipeline.metrics.request import as_list
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Edition

if TYPE_CHECKING:
    # The pages need libraries that not every installation has.
    from pipeline.pages.report import RenderedPage


class Game(Transcript, frozen=True, eq=False):
    """A game with its transcript, as returned by `Lake.game`.

    A notebook displays the transcript; `text` is the transcript as plain text.

    Attributes:
        tables: The game's rows of each table, by the table's name, such as `tables["votes"]`.
        counted: The game's rows of `Lake.evidence`, in `edition`.
        lake: The lake with the game.
    """

    lake: "Lake"

    def __repr__(self) -> str:
        """Return the game's id, type, outcome and number of messages in one line."""
        row = self.game
        end = row["outcome"] if row["is_finished"] else "not finished"
        n_messages = self.messages.height
        return f"<Game {row['game_id']}: {row['game_type']}, {end}, {n_messages} messages>"

    def _repr_html_(self) -> str | None:
        try:
            game_id = self.game["game_id"]
            return self.lake.page("game", game=game_id, edition=self.edition).html
        except PipelineError:
            return None  # without the library for pages, or if the lake is gone


class Lake(LakeWithMethods):
    """One state of a lake. To see what is committed later, open the lake again.

    `table` returns a lazy polars frame; methods that compute return a polars DataFrame. Shares are
    in 0..1, ids are texts, times are UTC, and an undefined value is null. If a file of the lake is
    damaged, every method raises LakeError, which names the file.

    A lake can be pickled, for example for parallel processes; the copy has the same state. A
    notebook shows the lake's tables.
    """

    @lake_method
    def game(
        self, game: str, *, edition: Edition = PAPER, num_of_game: int = DEFAULT_N_GAMES
    ) -> Game:
        """Return one game, which is found by its id, the first digits of its id, or its log path.

        `edition` and `num_of_game` select the counted rows, as in `Lake.evidence`. Raises
        UsageError if no game or several games match, and for an unknown edition.

        >>> game = lake.game(lake.games(game_type="undercover")["game_id"][0])
        >>> game
        <Game c2eb10893571d15fcfcfa70609dc783b: undercover, caught, 29 messages>
        >>> game.text.splitlines()[0]
        'undercover: caught'
        """
        transcript = super().game(game, edition=edition, num_of_game=num_of_game)
        return Game(
            transcript.tables, transcript.counted, transcript.edition, transcript.sources, self
        )

    @lake_method
    def plot_metric(
        self, metric: str, *, by: str | None = None, edition: Edition = PAPER, **options: Any
    ) -> "plots.Chart":
        """Return a chart of one metric: the value and confidence interval of each model.

        See `pipeline.plots.plot_metric`. With `by`, a column such as `game_type`, there is a
        panel for each value of the column. Other arguments are passed to `metrics`. Raises
        UsageError for an unknown metric, and PipelineError without the extra `view` or `notebooks`.

        >>> type(lake.plot_metric("judgement", by="game_type")).__name__
        'FacetChart'
        """
        columns = list(dict.fromkeys(["model", by or "model"]))
        rows = self.metrics(metric=metric, by=columns, edition=edition, **options)
        types = as_list(options.get("game_type")) or self.for_single_system().game_types
        return plots.plot_metric(rows, by=by, game_types=types)

    @lake_method
    def plot_profile(self, model: str, *, edition: Edition = PAPER) -> "plots.Chart":
        """Return a chart of one model's values in all metrics, compared with all other models.

        See `pipeline.plots.plot_profile`. Raises UsageError for an unknown model, and PipelineError
        without the extra `view` or `notebooks`.

        >>> type(lake.plot_profile("sim-atlas")).__name__
        'LayerChart'
        """
        rows = self.metrics(by=["model"], edition=edition)
        return plots.plot_profile(rows, model, game_types=self.for_single_system().game_types)

    @lake_method
    def plot_radar(self, **options: Any) -> "plots.Chart":
        """Return a chart with one radar (spider) chart of metrics for each model.

        The arguments are passed to `radar`. See `pipeline.plots.plot_radar`. Raises UsageError if
        no model has an area, and PipelineError without the extra `view` or `notebooks`.

        >>> type(lake.plot_radar()).__name__
        'VConcatChart'
        """
        return plots.plot_radar(self.radar(**options))

    @lake_method
    def plot_compare(
        self,
        *pairs: tuple[str, str],
        metric: str | Sequence[str] | None = None,
        edition: Edition = PAPER,
    ) -> "plots.Chart":
        """Return a chart of the differences between pairs of models, with confidence intervals.

        The arguments are those of `compare`. Raises UsageError for an unknown model or metric,
        and PipelineError without the extra `view` or `notebooks`.

        >>> type(lake.plot_compare(("sim-delta", "sim-atlas"), metric="win_rate")).__name__
        'LayerChart'
        """
        return plots.plot_differences(self.compare(*pairs, metric=metric, edition=edition))

    @lake_method
    def page(self, name: str, **parameters: object) -> "RenderedPage":
        """Return a page of the web interface `magic view`, which a notebook can display.

        An example is `lake.page("leaderboard")`: `name` and `parameters` are the path and query
        of the page's URL, as in `lake.page("compare", model="gpt-4", other="cohere")`: see
        docs/view.md. The result's `rows` are the data of the page. Raises UsageError for an unknown
        page or parameter, and PipelineError without the extra `view` or `notebooks`.

        >>> lake.page("evidence", metric="judgement", model="sim-atlas", hit="misses").rows.height
        8
        """
        with plots.raise_missing_extra_for_import_errors():
            from pipeline.pages.report import render_page
        return render_page(self, name, parameters)

    @lake_method
    def report(
        self,
        file: str | Path,
        *,
        title: str | None = None,
        edition: Edition = PAPER,
        confidence: float = DEFAULT_CONFIDENCE,
        games_per_cell: int = 1,
    ) -> Path:
        """Write a report as one HTML file that works offline, and return the path of the file.

        The report shows up to `games_per_cell` games behind each value. An existing file is
        replaced when the new file is complete. Raises UsageError for an unknown edition or more
        than 20 games per cell, and PipelineError without the extra `view` or if the file cannot be
        written.
        """
        with plots.raise_missing_extra_for_import_errors():
            from pipeline.pages.report import format_report
        html = format_report(
            self,
            title=title,
            edition=edition,
            confidence=confidence,
            games_per_cell=games_per_cell,
        )
        with atomic_write(file) as draft:
            draft.write_text(html, encoding="utf-8")
        return Path(file)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print a short name of the lake in a notebook, without the full path of its folder."""
        name = str(self.path).rpartition("/")[2]
        printer.text(f"<Lake {name} after ingest {self.ingest_id}>")

    @lake_method
    def _repr_html_(self) -> str | None:
        try:
            from pipeline.pages.report import format_lake_html
        except ModuleNotFoundError:
            return None
        return format_lake_html(self)


def open_lake(path: str | Path, as_of: int | None = None) -> Lake:
    """Open a lake to read its latest state, or its state after ingest number `as_of`.

    Raises LakeError if there is no readable lake.
    """
    return stored.open_lake(path, as_of, Lake)
