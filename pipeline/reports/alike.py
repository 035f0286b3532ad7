"""Names of models that look alike: which these are, `sql/shared/alike_names.sql` alone says."""

from pipeline.lake import StoredLake
from pipeline.metrics.views import shared
from pipeline.warehouse import answer, bounded

_SELECT = """SELECT string_agg(spelling, ', ' ORDER BY model) AS names
FROM shared.alike_names
GROUP BY CASE WHEN looks_like <> 'no model' THEN bare END
ORDER BY names"""


def alike_models(lake: StoredLake) -> list[str]:
    """The names that look alike, a text for each group with the numbers of games.

    Those that stand for no model are one group.
    """
    with bounded(lake, shared(), _SELECT) as connection:
        return answer(connection, _SELECT)["names"].to_list()
