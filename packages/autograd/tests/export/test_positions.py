"""An axis that is given by its place counts in a program as one that is given by its name."""

from pathlib import Path
from typing import Any

import pytest

import treadle.autograd as ag
from treadle.autograd.export import to_c


class Own(ag.Op):
    """An op that calls array functions as NumPy's users do."""

    def __init__(self, function: str) -> None:
        self.function = function

    def forward(self, xp: Any, x: Any) -> Any:
        return getattr(xp, self.function)(x, 0), ()


@pytest.mark.parametrize("function", ["sum", "max", "mean", "softmax", "logsumexp", "cumsum", "flip", "var", "argmax"])
def test_the_program_computes_the_same(function: str, tmp_path: Path) -> None:
    x = ag.Tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    assert getattr(ag, function)(x, 0).tolist() == getattr(ag, function)(x, axis=0).tolist()
    by_place = to_c(Own(function), x, tmp_path / "place.c", name="model")
    by_name = to_c(lambda x: getattr(ag, function)(x, axis=0), x, tmp_path / "name.c", name="model")
    assert str(by_place).split(":")[1] == str(by_name).split(":")[1]
