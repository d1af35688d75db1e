"""Relatives of the faults in ``test_handed_ndarray.py``: the same kind, in other functions and layouts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, FLOATS, INTEGERS

each_device = pytest.mark.parametrize("device", DEVICES)


# --- sums that drift, variances that cancel ---------------------------------------------------------------------------
@pytest.mark.parametrize("view", ["flat", "reversed", "strided", "column", "scan", "nansum", "mean", "average pool"])
def test_long_sums_stay_accurate(view: str) -> None:
    """numpy/numpy#8869 in other shapes: 2^21 tenths, in float32."""
    size = 2**21
    x, exact = nd.full(size, 0.1), float(np.float32(0.1)) * size
    total = {
        "flat": lambda: nd.sum(x),
        "reversed": lambda: nd.sum(x[::-1]),
        "strided": lambda: nd.sum(x[::2]) * 2,
        "column": lambda: nd.sum(nd.broadcast_to(x[:, None], (size, 3)), axis=0)[1],
        "scan": lambda: nd.cumsum(x)[-1],
        "nansum": lambda: nd.nansum(x),
        "mean": lambda: nd.mean(x) * size,
        "average pool": lambda: nd.avg_pool(x.reshape(1, 1, -1), size)[0, 0, 0] * size,
    }[view]()
    assert total.item() == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("offset", [1e3, 1e4, -1e4])
def test_variances_of_large_means(offset: float) -> None:
    """numpy/numpy#14691 along other axes, with NaN left out, of one value, and for float64."""
    rows = nd.asarray([offset, offset + 1, offset + 2])
    for x, axis in ((nd.stack([rows, rows]), 1), (nd.stack([rows, rows]).T, 0), (nd.flip(nd.stack([rows, rows])), 1)):
        assert nd.var(x, axis=axis).tolist() == pytest.approx([2 / 3] * 2, rel=1e-5)
    assert nd.nanvar(nd.concat([rows, nd.asarray([math.nan])])).item() == pytest.approx(2 / 3, rel=1e-5)
    assert nd.var(rows, correction=1).item() == pytest.approx(1, rel=1e-5)
    assert nd.var(nd.full((1000, 3), offset)).item() == 0
    wide = nd.asarray([1e8, 1e8 + 1, 1e8 + 2], dtype="float64")
    assert nd.std(wide).item() == pytest.approx(math.sqrt(2 / 3), rel=1e-12)


# --- dtypes -----------------------------------------------------------------------------------------------------------
@each_device
def test_python_scalars_in_other_functions(device: str) -> None:
    """numpy/numpy#29202: where, clip, maximum, powers, reflected operators, assignment."""
    x, small = nd.asarray([1.0, -2.0], device=device), nd.asarray([200, 100], dtype="uint8", device=device)
    for result in (nd.where(x > 0, x, 1.5), nd.clip(x, 0, 1.5), nd.maximum(x, 2), x**2, 2 / x, 1 - x, x // 3, x % 2.5):
        assert result.dtype is nd.float32
    for same in (small + 1, 1 + small, small * 2, small // 3, nd.maximum(small, 7), small & 15, small << 1):
        assert same.dtype is nd.uint8
    assert (small + 100).tolist() == [44, 200] and (10 - small).tolist() == [66, 166]
    for wrong in (300, -1):
        with pytest.raises(OverflowError):
            small + wrong
    assert nd.prod(nd.asarray([100, 100], dtype="int8", device=device)).item() == 10_000
    assert nd.cumsum(small).tolist() == [200, 300]


@each_device
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_floats_out_of_the_range_of_integers(device: str, source: str, target: str) -> None:
    """One rule on every device and for every layout: cut off to the nearest integer there is, NaN to 0."""
    limits = np.iinfo(target)
    low, high = int(limits.min), int(limits.max)
    values = [-1e30, float(low) * 2 - 2, -0.9, 0.9, 1.5, float(high) * 2 + 2, 1e30, math.inf, -math.inf, math.nan]
    expected = [low, low, 0, 0, 1, high, high, high, low, 0]
    repeated = np.array(values * 7, source)  # longer than a vector register
    for step in (1, -1, 2):
        x = nd.asarray(repeated, device=device, copy=True)[::step]
        assert x.astype(target).tolist() == (expected * 7)[::step]
        y = nd.zeros((70,), dtype=target, device=device)[::step]
        y[...] = x
        assert y.tolist() == (expected * 7)[::step]


@each_device
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_bounds_beyond_a_dtype_bound_nothing(device: str, dtype: str) -> None:
    """numpy/numpy#26759"""
    limits = np.iinfo(dtype)
    values = np.array([limits.min, 1, limits.max], dtype)
    x = nd.asarray(values, device=device, copy=True)
    for low, high in (
        (-(2**70), 2**70),
        (int(limits.min) - 1, None),
        (None, int(limits.max) + 1),
        (-(2**70), 5),
        (1, 2**70),
    ):
        assert_same(nd.clip(x, low, high), np.clip(values, low, high))
        assert_same(x.clip(low, high), np.clip(values, low, high))
    for low, high in ((2**70, None), (None, -(2**70)), (2**70, 2**71)):
        with pytest.raises(OverflowError, match=r"clip|maximum|minimum"):
            nd.clip(x, low, high)


# --- nothing, and one -------------------------------------------------------------------------------------------------
@each_device
def test_functions_of_nothing(device: str) -> None:
    """pytorch/pytorch#28380 beyond reductions."""
    z, flat = nd.zeros((3, 0), device=device), nd.zeros((0,), device=device)
    assert nd.any(z, axis=1).tolist() == [False] * 3 and nd.all(z, axis=1).tolist() == [True] * 3
    assert nd.logsumexp(z, axis=1).tolist() == [-math.inf] * 3
    for function in (nd.softmax, nd.cumsum, nd.sort, nd.argsort, nd.flip):
        assert function(z, axis=1).shape == (3, 0)
    assert nd.exp(z).shape == (3, 0)
    assert np.isnan(nd.var(z, axis=1).tolist()).all() and np.isnan(nd.median(z, axis=1).tolist()).all()
    assert nd.unique_values(z).shape == (0,) and nd.nonzero(z)[1].shape == (0,)
    assert nd.concat([z, z], axis=1).shape == (3, 0) and nd.stack([z, z]).shape == (2, 3, 0)
    assert nd.take(z, nd.zeros((0,), dtype="int64", device=device), axis=1).shape == (3, 0)
    assert nd.argmax(z, axis=0).shape == (0,)
    assert nd.pad(z, 1).tolist() == [[0, 0]] * 5
    assert nd.where(flat > 0, flat, 1.0).shape == (0,) and nd.clip(flat, 0, 1).shape == (0,)
    flat[...] = 5.0
    z[nd.zeros((3, 0), dtype="bool", device=device)] = 7.0
    z[:, :0] += 1
    with pytest.raises(nd.IndexingError):
        nd.take(z, nd.asarray([0], device=device), axis=1)


@each_device
def test_sums_of_products_of_nothing(device: str) -> None:
    """pytorch/pytorch#31421 in the relatives of matmul, over memory that was in use."""
    dirty = [nd.full((4, 5), 7.0, device=device) for _ in range(5)]
    del dirty
    a, b, v = nd.ones((4, 0), device=device), nd.ones((0, 5), device=device), nd.ones((0,), device=device)
    assert (a @ b).tolist() == [[0] * 5] * 4 and (a @ v).tolist() == [0] * 4 and (v @ b).tolist() == [0] * 5
    assert (v @ v).item() == nd.vecdot(v, v).item() == nd.dot(v, v).item() == 0
    assert nd.tensordot(a, b, axes=1).tolist() == [[0] * 5] * 4
    assert nd.einsum("ij,jk->ik", a, b).tolist() == [[0] * 5] * 4
    assert nd.outer(v, v).shape == (0, 0)
    assert (b @ nd.ones((5, 3), device=device)).shape == (0, 3)
    out = nd.full((4, 5), 3.0, device=device)
    nd.matmul(a, b, out=out)
    assert out.tolist() == [[0] * 5] * 4


# --- overlap ----------------------------------------------------------------------------------------------------------
@each_device
def test_other_overlapping_writes(device: str) -> None:
    """numba/numba#230 through out=, index arrays, masks, matmul and stepped views: as if the right side were copied."""
    x = nd.arange(8, device=device)
    nd.add(x[:-1], x[1:], out=x[1:])
    assert x.tolist() == [0, 1, 3, 5, 7, 9, 11, 13]
    x = nd.arange(8, device=device)
    x[nd.asarray([1, 2, 3, 4], device=device)] = x[:4]
    assert x.tolist() == [0, 0, 1, 2, 3, 5, 6, 7]
    x = nd.arange(8, device=device)
    x[x > 3] = x[::-1][:4]
    assert x.tolist() == [0, 1, 2, 3, 7, 6, 5, 4]
    x = nd.arange(8, device=device)
    x[::2] = x[4:]
    assert x.tolist() == [4, 1, 5, 3, 6, 5, 7, 7]
    x = nd.arange(8, device=device)
    x[:4] = nd.broadcast_to(x[3:4], (4,))
    assert x.tolist() == [3, 3, 3, 3, 4, 5, 6, 7]
    m = nd.asarray([[0.0, 1.0], [2.0, 3.0]], device=device)
    m += m.T
    assert m.tolist() == [[0, 3], [3, 6]]
    nd.matmul(m, m.T, out=m.T)
    assert m.tolist() == [[9, 18], [18, 45]]
    y = nd.asarray([1.0, 2.0, 3.0], device=device)
    nd.where(y > 1, y[::-1], y, out=y)
    assert y.tolist() == [1, 2, 1]
    y /= y[1]
    assert y.tolist() == [0.5, 1, 0.5]


# --- NaN, signs of zero, integer division -----------------------------------------------------------------------------
@each_device
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_in_other_functions(device: str, dtype: str) -> None:
    """ml-explore/mlx#4274: along either axis, through views, and where NaN is chosen, ordered or counted."""
    values = np.arange(120, dtype=dtype).reshape(8, 15)
    values[3, 7] = values[5, 2] = np.nan
    x = nd.asarray(values, device=device, copy=True)
    views: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x.T, lambda x: x[::-1, ::-1], lambda x: x[:, ::2]]
    for view in views:
        for axis in (0, 1):
            for name in ("max", "min", "argmax", "argmin", "sort"):
                assert_same(getattr(nd, name)(view(x), axis=axis), getattr(np, name)(view(values), axis=axis))
    assert_same(nd.maximum(x, 0.0), np.maximum(values, np.dtype(dtype).type(0)), zero_signs=False)
    assert_same(nd.clip(x, 1.0, 50.0), np.clip(values, 1, 50).astype(dtype))
    assert bool(nd.any(x[3:4, 7:8])) and nd.count_nonzero(x).item() == 119
    assert np.isnan(nd.median(x).item()) and nd.nanmax(x).item() == 119


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_sign_of_zero_in_other_functions(dtype: str) -> None:
    """numpy/numpy#5781: odd functions keep it, remainders take the divisor's."""
    zero = nd.asarray([-0.0, 0.0], dtype=dtype)
    for name in ("sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "expm1", "log1p", "sqrt", "ceil"):
        assert np.signbit(getattr(nd, name)(zero).numpy()).tolist() == [True, False], name
    six = nd.asarray([6.0, -6.0], dtype=dtype)
    assert np.signbit((six % 3).numpy()).tolist() == [False, False]
    assert np.signbit((six % -3).numpy()).tolist() == [True, True]
    assert np.signbit((zero * -1).numpy()).tolist() == [False, True]
    assert (1 / zero).tolist() == [-math.inf, math.inf]
    assert nd.atan2(zero, nd.asarray([-1.0, -1.0], dtype=dtype)).tolist() == pytest.approx([-math.pi, math.pi])


@each_device
@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisions_that_trap_elsewhere(device: str, dtype: str) -> None:
    """pytorch/pytorch#43874: by zero, and the least by -1; the process lives, the results are NumPy's."""
    limits = np.iinfo(dtype)
    values = [limits.min, limits.max, 0, 1, 7] + ([-1, -7] if limits.min < 0 else [])
    left = np.array([each for each in values for _ in values], dtype)
    right = np.array(values * len(values), dtype)
    x, y = nd.asarray(left, device=device, copy=True), nd.asarray(right, device=device, copy=True)
    with np.errstate(all="ignore"):
        assert_same(x // y, left // right)
        assert_same(x % y, left % right)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "count_nonzero"])
def test_axes_of_every_reduction(name: str) -> None:
    """pytorch/pytorch#29137: an empty tuple reduces nothing, a repeated or absent axis is an error."""
    values = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    x, function = nd.asarray(values), getattr(nd, name)
    for axis in ((), None, 0, -1, (0, 2), (-1, 0), (0, 1, 2)):
        for keepdims in (False, True):
            expected = np.asarray(getattr(np, name)(values, axis=axis, keepdims=keepdims))
            actual: Any = function(x, axis=axis, keepdims=keepdims)
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6)
    for wrong in (3, -4, (0, 0), (0, -3), (0, 5)):
        with pytest.raises(nd.ShapeError, match=rf"^{name}" if name != "std" else "axis"):
            function(x, axis=wrong)


@each_device
@pytest.mark.parametrize(
    "bounds", [(None, None), (-99, 99), (99, -99), (-1, None), (None, -1), (2, 1), (-3, -1), (5, 0)]
)
@pytest.mark.parametrize("step", [1, -1, 2, -2, 5, -7, 2**62, -(2**62)])
def test_slices_far_out(device: str, bounds: Any, step: int) -> None:
    """ml-explore/mlx#231: bounds and steps beyond the array, both signs."""
    index = slice(bounds[0], bounds[1], step)
    x, expected = nd.arange(5, device=device), np.arange(5)
    assert x[index].tolist() == expected[index].tolist()
    x[index], expected[index] = -1, -1
    assert x.tolist() == expected.tolist()


# --- ends of functions, numbers out of a dtype's range ----------------------------------------------------------------
LIMITS = {
    "tanh": (-1, 1), "erf": (-1, 1), "sigmoid": (0, 1), "exp": (0, math.inf), "exp2": (0, math.inf),
    "relu": (0, math.inf),
    "expm1": (-1, math.inf), "softplus": (0, math.inf), "atan": (-math.pi / 2, math.pi / 2), "gelu": (0, math.inf),
    "gelu_tanh": (0, math.inf), "sinh": (-math.inf, math.inf), "cosh": (math.inf, math.inf), "reciprocal": (0, 0),
}  # fmt: skip


@each_device
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LIMITS)
def test_functions_reach_their_limits(name: str, dtype: str, device: str) -> None:
    """pytorch/glow#99: exactly, at the infinities and at large numbers, in and behind vector registers."""
    low, high = np.array(LIMITS[name]).astype(dtype)
    far = [math.inf, float(np.finfo(dtype).max), 4e4] if name not in ("atan", "reciprocal") else [math.inf]
    if name in ("exp", "exp2", "expm1", "softplus", "relu", "gelu", "gelu_tanh", "sinh", "cosh"):
        far = [math.inf]
    for count in (1, 7, 33):
        for sign, limit in ((1.0, high), (-1.0, low)):
            x = nd.asarray([sign * each for each in far] * count, dtype=dtype, device=device)
            assert set(getattr(nd, name)(x).tolist()) == {float(limit)}


def test_ranges_beyond_a_dtype_are_refused() -> None:
    """numpy/numpy#1681: never wrapped; the last number counts, not the stop."""
    for arguments, dtype in (
        ((0, 257), "uint8"),
        ((-1, 3), "uint8"),
        ((127, -130, -1), "int8"),
        ((0, 2**40, 2**38), "int32"),
    ):
        with pytest.raises(nd.RangeError, match="arange"):
            nd.arange(*arguments, dtype=dtype)
    assert nd.arange(0, 256, dtype="uint8")[-1].item() == 255
    assert nd.arange(127, -129, -1, dtype="int8")[-1].item() == -128
    with pytest.raises(nd.RangeError, match="linspace"):
        nd.linspace(0, 300, 3, dtype="uint8")
    assert nd.linspace(0, 2**62, 2, dtype="int64").tolist() == [0, 2**62]
    with pytest.raises(nd.ShapeError, match="eye"):
        nd.eye(2, -1)


@each_device
def test_integers_between_two_ends_are_rounded_down(device: str) -> None:
    """numpy/numpy#16813: towards minus infinity, not towards 0."""
    for dtype in INTEGERS:
        if dtype.startswith("int"):
            assert nd.linspace(-1, 1, 4, dtype=dtype, device=device).tolist() == [-1, -1, 0, 1]
    assert nd.linspace(0, 10, 4, dtype="uint8", device=device).tolist() == [0, 3, 6, 10]


def test_no_quantile_of_many_is_an_empty_array() -> None:
    """pytorch/pytorch#28380 once more: an empty list of fractions is no error."""
    x = nd.ones((2, 3))
    for function in (nd.quantile, nd.nanquantile, nd.percentile, nd.nanpercentile):
        assert function(x, [], axis=1).shape == (0, 2) and function(x, []).shape == (0,)
        assert function(x, [], axis=0, keepdims=True).shape == (0, 1, 3)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 0)])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, math.inf])
def test_norms_of_matrices_without_elements(order: Any, shape: tuple[int, ...]) -> None:
    """pytorch/pytorch#28380 for matrices: a map from or to nothing has norm 0; the least there is not."""
    both: list[tuple[Any, Any]] = [(nd.linalg.matrix_norm, nd.zeros(shape)), (ag.linalg.matrix_norm, ag.zeros(shape))]
    for function, x in both:
        assert function(x, ord=order).tolist() == np.zeros(shape[:-2]).tolist()
        with pytest.raises(nd.ShapeError):
            function(x, ord=-2)


@each_device
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_a_matrix_with_nan_has_no_finite_decomposition(dtype: str, device: str) -> None:
    """numpy/numpy#20280, pytorch/pytorch#134334: LAPACK passes over NaN; the others of a stack are unharmed."""
    unharmed = np.asarray([[2.0, 0.0], [0.0, 4.0]])
    x = nd.asarray(np.stack([unharmed, [[math.nan, 1.0], [1.0, 1.0]], unharmed]), dtype=dtype, device=device)
    sign, logarithm = nd.linalg.slogdet(x)
    values, vectors = nd.linalg.eigh(x)
    right = nd.ones((2, 1), dtype=dtype, device=device)
    found: dict[str, tuple[nd.NDArray, Any]] = {
        "det": (nd.linalg.det(x), 8.0),
        "sign": (sign, 1.0),
        "logarithm": (logarithm, math.log(8.0)),
        "inv": (nd.linalg.inv(x), np.diag([0.5, 0.25])),
        "solve": (nd.linalg.solve(x, right), np.asarray([[0.5], [0.25]])),
        "eigvalsh": (nd.linalg.eigvalsh(x), np.asarray([2.0, 4.0])),
        "eigh": (values, np.asarray([2.0, 4.0])),
        "vectors": (nd.abs(vectors), np.eye(2)),
    }
    for name, (result, expected) in found.items():
        numbers = result.numpy()
        assert np.isnan(numbers[1]).all(), name
        np.testing.assert_allclose(numbers[[0, 2]], [expected, expected], rtol=2e-3, err_msg=name)
    assert np.isnan(nd.linalg.solve(x[1], nd.ones((3, 2, 1), dtype=dtype, device=device)).numpy()).all()
    assert nd.linalg.eigvalsh(nd.asarray([[1.0, math.nan], [0.0, 3.0]], device=device)).tolist() == [1.0, 3.0]


def test_tolerances_of_ranks_that_compare_with_nothing() -> None:
    """A NaN, which no singular value exceeds, made a matrix of zeros."""
    x = nd.asarray(np.ones((2, 2, 2)))
    for rtol in (math.nan, -1.0, nd.asarray([0.5, math.nan])):
        for function in (nd.linalg.pinv, nd.linalg.matrix_rank):
            with pytest.raises(ValueError, match="rtol must be 0 or more"):
                function(x, rtol=rtol)
    assert np.isnan(nd.linalg.pinv(nd.asarray([[math.inf, 1.0], [1.0, 1.0]])).numpy()).all()
    with pytest.raises(nd.LinearAlgebraError, match="no rank"):
        nd.linalg.matrix_rank(nd.asarray([[math.inf, 1.0], [1.0, 1.0]]))
    assert nd.linalg.matrix_rank(x, rtol=nd.asarray([0.0, 1.0])).tolist()[1] == 0


@each_device
@pytest.mark.parametrize("name", ["irfft", "hfft", "fft", "ifft", "rfft", "ihfft"])
def test_transforms_of_nothing_filled_up_are_zero(name: str, device: str) -> None:
    """tensorflow/tensorflow#126898: what is filled up from no element at all was memory as it had been left."""
    for norm in ("backward", "ortho", "forward"):
        for axis, shape in ((0, (0, 3)), (1, (3, 0))):
            nd.full((500,), 7.0)  # which lies in the cache afterwards
            found = getattr(nd.fft, name)(nd.zeros(shape, device=device), n=6, axis=axis, norm=norm)
            assert not found.numpy().any()
    assert not nd.fft.irfftn(nd.zeros((0, 2), device=device), s=(3, 5), axes=(1, 0)).numpy().any()


@each_device
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_that_are_not_numbers_are_left_out(dtype: str, device: str) -> None:
    """pydata/xarray#6817: NaN in either part."""
    values = np.asarray([[1 + 1j, complex(math.nan, 2), 2, complex(0, math.nan)], [1, 2j, 3, 4 - 1j]], dtype)
    x = nd.asarray(values, device=device)
    for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd"):
        for axis in (None, 0, 1):
            found, expected = getattr(nd, name)(x, axis=axis).numpy(), getattr(np, name)(values, axis=axis)
            np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=name)
            assert found.dtype == expected.dtype


class Whole:
    """An integer of another library: sympy's, or a symbolic size."""

    def __index__(self) -> int:
        return 1


X = nd.asarray([[1.0, 5.0, 2.0], [4.0, 0.0, 3.0]])
OF_INTEGERS: dict[str, Callable[[Any], Any]] = {
    "arange": lambda one: nd.arange(0, 4, one),
    "expand_dims": lambda one: nd.expand_dims(X, axis=one),
    "moveaxis": lambda one: nd.moveaxis(X, one, 0),
    "array_split": lambda one: nd.array_split(X, one)[0],
    "split": lambda one: nd.split(X, one)[0],
    "as_strided": lambda one: nd.as_strided(nd.asarray([1, 2, 3], dtype="uint8"), (2,), (1,), offset=one),
    "diff": lambda one: nd.diff(X, n=one),
    "median": lambda one: nd.median(X, axis=one),
    "nanquantile": lambda one: nd.nanquantile(X, 0.3, axis=one),
    "roll": lambda one: nd.roll(X, one, axis=one),
    "sliding_window_view": lambda one: nd.sliding_window_view(X, one, axis=one),
    "tensordot": lambda one: nd.tensordot(X, X.T, axes=one),
    "topk": lambda one: nd.topk(X, one)[0],
    "vecdot": lambda one: nd.vecdot(X, X, axis=one),
    "vector_norm": lambda one: nd.linalg.vector_norm(X, ord=one),
    "fftshift": lambda one: nd.fft.fftshift(X, axes=one),
    "sum": lambda one: nd.sum(X, axis=one),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_of_other_libraries(name: str) -> None:
    """What has ``__index__`` is an integer to NumPy, as an axis, a number of parts or an order."""
    assert OF_INTEGERS[name](Whole()).tolist() == OF_INTEGERS[name](1).tolist()


def test_choices_along_no_axis() -> None:
    for axis in (2, -3, 2**70):
        with pytest.raises(nd.TreadleError, match="choice"):
            nd.random.choice(X, 2, axis=axis)
    assert nd.random.choice(X, (), axis=-1).shape == (2,)
