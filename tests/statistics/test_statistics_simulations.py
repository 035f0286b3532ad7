"""The scripts of `simulations/`, at a size that takes a moment: a few cells hold their limits."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "simulations"))

import false_alarms
from coverage import cell, table
from document import write
from shapes import SHAPES

SOME = 400
# What is exact is exact: Wilson's interval at ten games and a rate of .05.
WILSON = 0.9139


def test_wilsons_coverage_is_summed_over_all_outcomes():
    assert cell("cooperation", 10, 0.05, 0.0, 1).coverage == pytest.approx(WILSON, abs=1e-4)


@pytest.mark.parametrize("metric", SHAPES)
def test_intervals_cover(metric):
    """Of 400 draws, at a true coverage of .95, under .90 is some five standard errors off."""
    correlation = 0.0 if SHAPES[metric].is_one_trial else 0.5
    found = cell(metric, 20, 0.5, correlation, SOME)
    assert found.coverage >= 0.90
    assert found.width < 1.6 * found.known_width
    assert metric in table([found])


@pytest.mark.parametrize("metric", ["win_rate", "judgement", "reasoning"])
def test_models_alike_are_seldom_told_apart(metric):
    assert false_alarms.false_alarms(metric, 10, 0.2, 0.5, SOME).rejected <= 0.10


def test_models_that_differ_are_told_apart_more_often():
    alike = false_alarms.false_alarms("reasoning", 20, 0.0, 0.5, SOME).rejected
    paired, _, of_many = false_alarms.power("reasoning", 20, SOME)
    assert alike < of_many <= paired


def test_a_table_goes_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    write("x", "new", page)
    assert page.read_text() == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    with pytest.raises(SystemExit, match="no section"):
        write("y", "new", page)
