"""`magic audit`: where logs contradict themselves."""

from functools import partial

from pipeline.cli import options, terminal
from pipeline.cli.options import argument, several
from pipeline.errors import UsageError


def audit(
    *,
    kind: str | None = argument("KIND", "Print every finding of this kind."),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.OneSystemOption = None,
    by: options.Texts = several("COLUMNS", "Columns to group by, separated by commas"),
    model: options.ModelsOption = None,
    form: options.FormOption = "table",
) -> None:
    """Find where logs contradict themselves, how often, and the effect on metrics.

    A row is one kind of contradiction: the rows checked, the contradictions found, and their share.
    `as_logged` and `as_read` are the metric's mean hit over the checked rows: by the log's own
    judgement, and by the text or the rest of the log. docs/audit.md explains each kind.

    \b
    Examples:
      magic audit
      magic audit --by game_type,format_version
      magic audit role_identifications --model gpt-4
    """
    from pipeline.cli.output import answer, show_parts
    from pipeline.lake import open_lake
    from pipeline.present import present
    from pipeline.reports.audit import audit as audited
    from pipeline.reports.audit import findings_parts

    opened = open_lake(lake)
    opened = opened.of_system(system) if system else opened
    if kind is not None:
        if by:
            raise UsageError("--by cannot be combined with KIND: its rows are not grouped")
        parts = findings_parts(opened, kind, model=model)
        if show_parts(parts, form, partial(present, "findings")) == 0:
            terminal.note(f"{kind}: no contradiction was found")
        return
    rows = audited(opened, by=options.columns(by or []), model=model)
    answer("audit", rows, form, empty="no game in the lake has anything to check")
    if system is None and len(opened.systems) > 1:
        terminal.note(
            f"these rows are of {len(opened.systems)} systems together: see one with --system"
        )
    if rows.height:
        terminal.note(
            "run `magic audit KIND` to print the rows of one kind, for example stated_votes"
        )
