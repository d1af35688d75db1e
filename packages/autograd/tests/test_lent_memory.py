"""Values saved for backward that somebody overwrites through memory that an array has lent out."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag

LOANS: dict[str, Callable[[ag.Tensor], Any]] = {
    "numpy": lambda x: x.numpy(),
    "memoryview": lambda x: memoryview(x.data),
    "dlpack": lambda x: np.from_dlpack(x.data),
}
loans = pytest.mark.parametrize("loan", LOANS)


def squared() -> tuple[ag.Tensor, ag.Tensor]:
    """A leaf that is saved, and a result."""
    x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    return x, (x * x).sum()


@loans
@pytest.mark.parametrize("kept", [True, False])
def test_a_write_from_outside_raises(loan: str, kept: bool, device: str) -> None:
    x, y = squared()
    assert y.item() == 14.0
    lent = LOANS[loan](x)
    lent[0] = 5.0
    if not kept:
        del lent
    with pytest.raises(ag.SavedValueError, match="Multiply"):
        y.backward()


@loans
def test_a_loan_from_before_is_watched_too(loan: str, device: str) -> None:
    x = ag.Tensor([1.0, 2.0, 3.0], requires_grad=True)
    lent = LOANS[loan](x)
    lent[0] = 2.0  # before anything is saved: that is how values are set
    y = (x * x).sum()
    assert y.item() == 17.0
    lent[1] = 0.0
    with pytest.raises(ag.SavedValueError):
        y.backward()


@loans
def test_looking_is_free(loan: str, device: str) -> None:
    x, y = squared()
    for _ in range(2):
        assert sum(LOANS[loan](x)) == 6.0
    held = LOANS[loan](x)
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 4.0, 6.0] and len(held) == 3
