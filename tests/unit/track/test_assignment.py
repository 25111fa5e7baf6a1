"""The cheapest assignment, against SciPy's."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from engine.track.assignment import assign


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9])
def test_as_cheap_as_scipys(rows: int) -> None:
    random = np.random.default_rng(rows)
    for _ in range(200):
        columns = rows + int(random.integers(0, 5))
        cost = random.normal(size=(rows, columns)) * 10 ** random.uniform(-3, 3)
        cost[random.random(cost.shape) < 0.3] = 1e6
        found = assign(cost)
        assert len(set(found.tolist())) == rows
        theirs = cost[linear_sum_assignment(cost)].sum()
        assert cost[np.arange(rows), found].sum() == pytest.approx(theirs, rel=1e-9, abs=1e-9)


def test_equal_costs_still_give_each_row_its_own_column() -> None:
    assert sorted(assign(np.zeros((4, 4))).tolist()) == [0, 1, 2, 3]


def test_more_rows_than_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="2 columns"):
        assign(np.zeros((3, 2)))


def test_tracking_never_loads_scipys_optimiser() -> None:
    """It would be loaded when a second face comes, and stop the picture for most of a second."""
    check = (
        "import sys, numpy as np\n"
        "from engine.track.assignment import assign\n"
        "import engine.track.persons, engine.build\n"
        "assign(np.eye(3))\n"
        "sys.exit('scipy.optimize' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
