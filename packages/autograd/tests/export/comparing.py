"""How the C is compared with Python: exactly, or by its error against the same computation in float64."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from packages.autograd.tests.export.drawing import Case

import treadle.autograd as ag
import treadle.ndarray as nd

__all__ = ["assert_as_good", "assert_like", "operand_tensors", "outputs_of", "viewed"]

FLOOR = 4.0
"""Units in the last place that an error may have where Python happens to have none."""


WIDE_FLOOR = 64.0
"""The same for float64, where Python's own result is what the error is measured against."""


def viewed(array: np.ndarray, layout: str) -> nd.NDArray:
    """The elements in another layout of memory."""
    if layout == "reversed" and array.ndim:
        return nd.asarray(array[::-1].copy())[::-1]
    if layout == "transposed" and array.ndim > 1:
        return nd.asarray(array.T.copy()).T
    if layout == "strided" and array.ndim:
        return nd.asarray(np.repeat(array, 2, axis=0), copy=True)[::2]
    return nd.asarray(np.array(array), copy=True)


def operand_tensors(case: Case) -> list[ag.Tensor]:
    """The operands as tensors, in their layouts."""
    return [ag.Tensor(viewed(each, layout)) for each, layout in zip(case.operands, case.layouts, strict=True)]


def outputs_of(function: Callable[..., Any], operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What Python computes."""
    with ag.no_grad():
        found = function(*[ag.Tensor(nd.asarray(np.array(each), copy=True)) for each in operands])
    several = found if isinstance(found, tuple | list) else [found]
    return [each.numpy() for each in several]


def assert_like(got: np.ndarray, expected: np.ndarray, name: str = "") -> None:
    """The same bits, but that every NaN is one."""
    assert got.shape == expected.shape and got.dtype == expected.dtype
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected, err_msg=name)
        return
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), nan, err_msg=name)
    np.testing.assert_array_equal(got[~nan], expected[~nan], err_msg=name)
    np.testing.assert_array_equal(np.signbit(got[~nan]), np.signbit(expected[~nan]), err_msg=name)


def assert_as_good(
    got: np.ndarray, python: np.ndarray, exact: np.ndarray, sizes: np.ndarray | None, per_element: bool
) -> None:
    """The error is at most twice Python's own, relative to the sum of magnitudes ``sizes`` or the values themselves."""
    assert got.shape == python.shape and got.dtype == python.dtype
    if got.dtype.kind != "f" or not got.size:
        np.testing.assert_array_equal(got, python)
        return
    unit = float(np.finfo(got.dtype).eps)
    finite = np.isfinite(python) & np.isfinite(exact)
    np.testing.assert_array_equal(got[~finite], python[~finite])
    got, python, exact = (each[finite].astype(np.float64) for each in (got, python, exact))
    if not got.size:
        return
    scale = np.abs(exact) if sizes is None else np.abs(sizes[finite].astype(np.float64))
    scale = np.maximum(scale if per_element else np.full_like(scale, scale.max()), np.finfo(np.float32).tiny)
    worst, own = (float(np.max(np.abs(each - exact) / scale)) for each in (got, python))
    floor = FLOOR if unit > 1e-10 else WIDE_FLOOR
    assert worst <= 2 * own + floor * unit, f"error {worst / unit:.2f} units; Python's own is {own / unit:.2f}"
