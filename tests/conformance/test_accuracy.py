"""Elementwise float32 and float64 functions lie within 2 units in the last place of the true value.

The true value is computed by mpmath with 160 bits. The arguments cover every exponent, with the subnormal and the huge
ones, and lie densely where the functions have zeros, poles and the ends of their range. The summary of the run prints
the largest error found of each function.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import opset, reference

ULPS = 2.0
DTYPES = ("float32", "float64")
Errors = dict[tuple[str, str], tuple[float, str]]

mp = mpmath.mp.clone() if hasattr(mpmath.mp, "clone") else mpmath.MPContext()
mp.prec = 160


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x)) if x >= 0 else mp.exp(x) / (1 + mp.exp(x))


def _gelu(x: Any) -> Any:
    return x * mp.erfc(-x / mp.sqrt(2)) / 2


def _gelu_tanh(x: Any) -> Any:
    return x * _sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))


def _softplus(x: Any) -> Any:
    return max(x, mp.mpf(0)) + mp.log1p(mp.exp(-abs(x)))


def _logaddexp(x: Any, y: Any) -> Any:
    return max(x, y) + mp.log1p(mp.exp(-abs(x - y)))


def _inside(low: float, high: float, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that is NaN outside of [low, high]."""
    return lambda x: function(x) if low <= x <= high else mp.nan


TRUE: dict[str, Callable[..., Any]] = {
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "log": _inside(0, math.inf, mp.log),
    "log2": _inside(0, math.inf, lambda x: mp.log(x) / mp.log(2)),
    "log10": _inside(0, math.inf, lambda x: mp.log(x) / mp.log(10)),
    "log1p": _inside(-1, math.inf, mp.log1p),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": _inside(-1, 1, mp.asin),
    "acos": _inside(-1, 1, mp.acos),
    "atan": mp.atan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asinh": lambda x: mp.sign(x) * mp.log1p(abs(x) + x * x / (1 + mp.sqrt(1 + x * x))),
    "acosh": _inside(1, math.inf, lambda x: mp.log1p((x - 1) + mp.sqrt((x - 1) * (x + 1)))),
    "atanh": _inside(-1, 1, mp.atanh),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "erf": mp.erf,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "pow": lambda x, y: abs(x) ** y * (-1 if x < 0 and y % 2 == 1 else 1) if x > 0 or y == mp.floor(y) else mp.nan,
    "atan2": mp.atan2,
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "logaddexp": _logaddexp,
}
UNARY = [name for name in TRUE if name not in ("pow", "atan2", "hypot", "logaddexp")]
BINARY = ["pow", "atan2", "hypot", "logaddexp"]

CRITICAL = [0.5, 1.0, 2.0, math.e, 1 / math.e, math.sqrt(2), math.sqrt(0.5), 0.55, 0.95, 1.1, 1.2, 3.93, 10.0, 14.6]
CRITICAL += [math.pi / 2 * k for k in (1, 2, 3, 4, 10, 11, 63661, 63662, 636619)] + [1e5, 1e6, 0.41421356, 2.41421356]
CRITICAL += [math.log(2) * k for k in (0.5, 1, 1.5, 127.5, 128, 1023.5, 1024, 1074.5)] + [
    86.0,
    88.0,
    103.9,
    104.0,
    708.0,
]
CRITICAL += [709.78, 745.13, 89.4, 126.0, 128.0, 149.0, 150.0, 1022.0, 1024.0, 1074.0, 1075.0, 37.5, 38.4, 16777216.0]
"""Zeros, poles, the ends of ranges, and where the kernels change from one formula to another."""


def samples(dtype: str, mantissas: int) -> Any:
    """Numbers of either sign with every exponent, and the neighbourhood of the critical ones."""
    real = np.dtype(dtype)
    random = np.random.default_rng(12345)
    info = np.finfo(real)
    exponents = np.repeat(np.arange(int(info.minexp) - int(info.nmant), int(info.maxexp)), mantissas)
    spread = np.ldexp((1 + random.random(exponents.size)).astype(real), exponents.astype(np.int32))
    usual = [random.uniform(-limit, limit, 32 * mantissas).astype(real) for limit in (1, 4, 15, 110, 750)]
    near = [np.array(CRITICAL, real)]
    for _ in range(3):
        near = [near[0], *(np.nextafter(each, real.type(sign * math.inf)) for each in near for sign in (-1, 1))]
    close = np.concatenate(near)
    positive = np.concatenate([spread, close])
    return np.unique(np.concatenate([positive, -positive, *usual]))


def true_values(name: str, *operands: Any) -> list[Any]:
    """The function of each element, as mpmath numbers."""
    function = TRUE[name]
    wide = [operand.astype(np.float64).tolist() for operand in operands]
    return [function(*map(mp.mpf, row)) for row in zip(*wide, strict=True)]


def errors_in_ulps(actual: Any, expected: list[Any], scale: Any = None) -> Any:
    """Their distance in the spacing of the dtype at the expected value (or at scale, where that is larger).

    What overflows counts as the power of two at the end of the range. A NaN on one side only is an infinite error.
    """
    info = np.finfo(actual.dtype)
    end = mp.mpf(2) ** int(info.maxexp)
    least = mp.mpf(2) ** (int(info.minexp) - int(info.nmant))
    errors = np.zeros(actual.size)
    for i, (got, value) in enumerate(zip(actual.astype(np.float64).tolist(), expected, strict=True)):
        if math.isnan(got) or mp.isnan(value):
            errors[i] = 0.0 if math.isnan(got) and mp.isnan(value) else math.inf
            continue
        clipped = min(max(value, -end), end)
        size = abs(clipped) if scale is None else max(abs(clipped), mp.mpf(float(scale[i])))
        spacing = max(mp.mpf(2) ** (mp.frexp(size)[1] - 1 - int(info.nmant)), least) if size else least
        errors[i] = float(abs(min(max(mp.mpf(got), -end), end) - clipped) / spacing)
    return errors


def check(name: str, errors: Any, found: Errors, *operands: Any) -> None:
    worst = int(np.argmax(errors))
    where = ", ".join(repr(operand[worst].item()) for operand in operands)
    found[name, operands[0].dtype.name] = (float(errors[worst]), where)
    assert errors[worst] <= ULPS, f"{name}({where}) is off by {errors[worst]} ulp"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str, largest_errors: Errors) -> None:
    x = samples(dtype, {"float32": 8, "float64": 1}[dtype])
    if name in ("erf", "gelu", "gelu_tanh", "sigmoid", "softplus", "exp", "sinh", "cosh", "tanh", "exp2", "expm1"):
        x = x[np.abs(x) < 1e5]  # beyond, mpmath takes long over what test_special_values knows
    actual = getattr(nd, name)(nd.asarray(x)).numpy()
    check(name, errors_in_ulps(actual, true_values(name, x)), largest_errors, x)


DENSE: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "sigmoid": lambda x: np.where(x < 0, np.exp(x), 1.0) / (1.0 + np.exp(-np.abs(x))),
    "erf": np.frompyfunc(math.erf, 1, 1),
    "gelu": lambda x: 0.5 * x * np.frompyfunc(math.erfc, 1, 1)(-x * math.sqrt(0.5)).astype(np.float64),
}
"""Those that vector kernels take from tables, in float64: its errors are too small to count."""


@pytest.mark.parametrize("name", DENSE)
def test_every_4999th_float32(name: str) -> None:
    x = np.arange(0, 2**32, 4999, dtype=np.int64).astype(np.uint32).view(np.float32)
    x = x[np.isfinite(x) & ((x >= 0) | (name != "log"))]
    with np.errstate(all="ignore"):
        expected = DENSE[name](x.astype(np.float64)).astype(np.float64)
    least, end = 2.0**-149, 2.0**128
    spacing = np.maximum(np.ldexp(1.0, np.frexp(expected)[1] - 24), least)
    actual = getattr(nd, name)(nd.asarray(x)).numpy().astype(np.float64)
    errors = np.abs(np.clip(actual, -end, end) - np.clip(expected, -end, end)) / spacing
    worst = int(np.argmax(errors))
    assert errors[worst] <= ULPS, f"{name}({x[worst]!r}) is off by {errors[worst]} ulp"


def pairs(name: str, dtype: str) -> tuple[Any, Any]:
    """Operands of a binary function: of every size, of like size, and in the usual range."""
    random = np.random.default_rng(54321)
    values = samples(dtype, 1)
    values = values[np.abs(values) < 1e5] if name == "logaddexp" else values
    x, y = random.choice(values, 3000), random.choice(values, 3000)
    usual = random.uniform(-20, 20, (2, 3000)).astype(dtype)
    like = np.stack([usual[0], (usual[0] * random.uniform(0.9, 1.1, 3000)).astype(dtype)])
    x, y = np.concatenate([x, usual[0], like[0]]), np.concatenate([y, usual[1], like[1]])
    if name == "pow":
        x = np.where(y == np.rint(y), x, np.abs(x))
        x, y = x[x != 0], y[x != 0]
        kept = np.abs(y.astype(np.float64)) < 2000 / np.maximum(np.abs(np.log2(np.abs(x.astype(np.float64)))), 1e-300)
        x, y = x[kept], y[kept]
    return x, y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str, largest_errors: Errors) -> None:
    """Where exp(x) + exp(y) is near 1, float64's logaddexp cancels: its error is of the larger operand's size."""
    x, y = pairs(name, dtype)
    actual = getattr(nd, name)(nd.asarray(x), nd.asarray(y)).numpy()
    scale = np.maximum(x, y) if (name, dtype) == ("logaddexp", "float64") else None
    errors = errors_in_ulps(actual, true_values(name, x, y), None if scale is None else np.abs(scale))
    check(name, errors, largest_errors, x, y)


def special(dtype: str) -> Any:
    info = np.finfo(dtype)
    numbers = [
        0.0,
        1.0,
        2.0,
        3.0,
        0.5,
        1.5,
        math.inf,
        float(info.max),
        float(info.tiny),
        float(info.smallest_subnormal),
    ]
    return np.array([*numbers, *(-number for number in numbers), math.nan], dtype)


def assert_special(actual: Any, expected: Any) -> None:
    """NaN, infinities and zeros with their signs, and the rest nearly."""
    with np.errstate(all="ignore"):
        expected = expected.astype(actual.dtype)
    assert np.array_equal(np.isnan(actual), np.isnan(expected)), f"{actual}, expected {expected}"
    exact = (expected == 0) | np.isinf(expected)
    assert np.array_equal(actual[exact], expected[exact]), f"{actual}, expected {expected}"
    assert np.array_equal(np.signbit(actual[exact]), np.signbit(expected[exact])), f"{actual}, expected {expected}"
    assert np.allclose(actual, expected, rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_special_values(name: str, dtype: str) -> None:
    x = special(dtype)
    with np.errstate(all="ignore"):
        expected = reference.resolve(opset.OPS[name].reference)(x.astype(np.float64))
    assert_special(getattr(nd, name)(nd.asarray(x)).numpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_special_pairs(name: str, dtype: str) -> None:
    x, y = (each.ravel() for each in np.meshgrid(special(dtype), special(dtype)))
    with np.errstate(all="ignore"):
        expected = reference.resolve(opset.OPS[name].reference)(x.astype(np.float64), y.astype(np.float64))
    assert_special(getattr(nd, name)(nd.asarray(x), nd.asarray(y)).numpy(), expected)


def arrangements(x: Any) -> Iterator[Any]:
    """Arrays of the elements of x that other loops read: alone, a few, with a stride, reversed."""
    for length in (1, 3, 7, 16, 33):
        yield slice(0, length)
        yield slice(len(x) - length, len(x))
    yield slice(None, None, 3)
    yield slice(None, None, -1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_the_bits_do_not_depend_on_the_place(name: str, dtype: str) -> None:
    """SIMD body, remainder and strided loop agree; so do blocks with and without huge or special elements."""
    function = getattr(nd, name)
    random = np.random.default_rng(99)
    x = np.concatenate([random.uniform(-30, 30, 5000), random.uniform(-1, 1, 4000)]).astype(dtype)
    whole = function(nd.asarray(x)).numpy()
    for part in arrangements(x):
        assert np.array_equal(function(nd.asarray(x)[part]).numpy(), whole[part], equal_nan=True)
    mixed = np.insert(x, [0, 2500, 9000], np.array([1e30, math.inf, math.nan], dtype))
    kept = ~np.isin(np.arange(mixed.size), [0, 2501, 9002])
    with_huge = function(nd.asarray(mixed)).numpy()
    assert np.array_equal(with_huge[kept], whole, equal_nan=True)
    in_place = nd.asarray(mixed, copy=True)
    function(in_place, out=in_place)
    assert np.array_equal(in_place.numpy(), with_huge, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_the_bits_of_pairs_do_not_depend_on_the_place(name: str, dtype: str) -> None:
    function = getattr(nd, name)
    random = np.random.default_rng(98)
    x, y = random.uniform(-8, 8, (2, 1000)).astype(dtype)
    whole = function(nd.asarray(x), nd.asarray(y)).numpy()
    for part in arrangements(x):
        assert np.array_equal(function(nd.asarray(x)[part], nd.asarray(y)[part]).numpy(), whole[part], equal_nan=True)
    held = function(nd.asarray(x), nd.asarray(y[5])).numpy()
    single = [function(nd.asarray(x[i : i + 1]), nd.asarray(y[5:6])).numpy()[0] for i in range(50)]
    assert np.array_equal(held[:50], single, equal_nan=True)


@pytest.mark.parametrize("name", UNARY)
def test_integers_and_booleans_become_the_default_float(name: str) -> None:
    for values in (np.array([0, 1], np.int8), np.array([1, 0], np.uint64), np.array([True, False])):
        actual = getattr(nd, name)(nd.asarray(values))
        assert actual.dtype == nd.float32
        expected = getattr(nd, name)(nd.asarray(values.astype(np.float32)))
        assert np.array_equal(actual.numpy(), expected.numpy(), equal_nan=True)
