"""How results are compared with NumPy's: exactly, or within units in the last place, NaN at the same positions."""

from typing import Any

import numpy as np

import treadle.ndarray as nd


def assert_same(
    actual: nd.NDArray, expected: Any, *, ulps: float = 0, slack: Any = 0.0, zero_signs: bool = True
) -> None:
    """``actual`` has the dtype, shape and values of ``expected``.

    Floats may differ by ``ulps`` units in the last place of the expected value, plus the absolute ``slack``. With
    ``zero_signs``, zeros must agree in sign where the expected value is an exact zero.
    """
    result = actual.to_device("cpu").numpy()
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype.name, f"dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        assert np.array_equal(result, expected), f"{result!r}, expected {expected!r}"
        return
    with np.errstate(all="ignore"):
        bound = ulps * np.spacing(np.abs(expected)).astype(np.float64) + slack
        near = np.abs(result.astype(np.float64) - expected.astype(np.float64)) <= bound
    same = (result == expected) | (np.isnan(result) & np.isnan(expected)) | near
    assert same.all(), f"{result!r}, expected {expected!r}, within {ulps} ulp"
    if zero_signs and ulps == 0:
        zeros = (expected == 0) & (result == 0)
        assert np.array_equal(np.signbit(result[zeros]), np.signbit(expected[zeros])), f"sign of zero in {result!r}"
