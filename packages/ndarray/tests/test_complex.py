"""complex64 and complex128: special values, branch cuts, views of the parts, conversion, interchange."""

import cmath
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray import devices
from treadle.ndarray.numpy_backend import NumpyBackend

NAMES = ("complex64", "complex128")
inf, nan, pi = math.inf, math.nan, math.pi
each_name = pytest.mark.parametrize("name", NAMES)

SPECIAL = [
    ("sqrt", complex(-0.0, 0.0), complex(0, 0)),
    ("sqrt", complex(1, inf), complex(inf, inf)),
    ("sqrt", complex(nan, inf), complex(inf, inf)),
    ("sqrt", complex(-inf, 1), complex(0, inf)),
    ("sqrt", complex(inf, nan), complex(inf, nan)),
    ("exp", complex(-inf, nan), complex(0, 0)),
    ("exp", complex(inf, 0), complex(inf, 0)),
    ("exp", complex(inf, nan), complex(inf, nan)),
    ("exp", complex(nan, 0), complex(nan, 0)),
    ("exp", complex(1, inf), complex(nan, nan)),
    ("expm1", complex(-inf, 1), complex(-1, 0)),
    ("expm1", complex(inf, 0), complex(inf, 0)),
    ("expm1", complex(nan, 0), complex(nan, 0)),
    ("expm1", complex(1, nan), complex(nan, nan)),
    ("log", complex(0, 0), complex(-inf, 0)),
    ("log", complex(-0.0, 0), complex(-inf, pi)),
    ("log", complex(1, inf), complex(inf, pi / 2)),
    ("log", complex(-inf, inf), complex(inf, 3 * pi / 4)),
    ("log", complex(inf, nan), complex(inf, nan)),
    ("log1p", complex(-1, 0), complex(-inf, 0)),
    ("log1p", complex(1, inf), complex(inf, pi / 2)),
    ("log1p", complex(-inf, 1), complex(inf, pi)),
    ("log1p", complex(nan, inf), complex(inf, nan)),
    ("acos", complex(0, 0), complex(pi / 2, -0.0)),
    ("acos", complex(0, nan), complex(pi / 2, nan)),
    ("acos", complex(-inf, inf), complex(3 * pi / 4, -inf)),
    ("acosh", complex(-inf, inf), complex(inf, 3 * pi / 4)),
    ("asinh", complex(inf, inf), complex(inf, pi / 4)),
    ("atanh", complex(1, 0), complex(inf, 0)),
    ("atanh", complex(inf, 1), complex(0, pi / 2)),
    ("cosh", complex(0, inf), complex(nan, 0)),
    ("cosh", complex(inf, inf), complex(inf, nan)),
    ("sinh", complex(0, inf), complex(0, nan)),
    ("sinh", complex(inf, 0), complex(inf, 0)),
    ("tanh", complex(inf, 1), complex(1, 0)),
    ("tanh", complex(inf, 2), complex(1, 0)),
    ("tanh", complex(inf, nan), complex(1, 0)),
    ("tanh", complex(0, nan), complex(0, nan)),
    ("sign", complex(0, 0), complex(0, 0)),
    ("sign", complex(nan, 1), complex(nan, nan)),
]
"""Op, operand, result: the array API standard's tables of special cases (and C11, annex G.6)."""


def same(found: complex, expected: complex, tolerance: float) -> bool:
    parts = zip((found.real, found.imag), (expected.real, expected.imag), strict=True)
    return all(x == y or (x != x and y != y) or abs(x - y) <= tolerance for x, y in parts)


@each_name
@pytest.mark.parametrize(("op", "operand", "expected"), SPECIAL)
def test_special_values(op: str, operand: complex, expected: complex, name: str) -> None:
    tolerance = 1e-6 if name == "complex64" else 1e-15
    found = getattr(nd, op)(nd.asarray([operand], dtype=name))[0].item()
    assert same(found, expected, tolerance), found
    if op not in ("sign", "expm1", "log1p", "acos"):
        mirrored = getattr(nd, op)(nd.asarray([operand.conjugate()], dtype=name))[0].item()
        signless = same(
            complex(mirrored.real, abs(mirrored.imag)), complex(expected.real, abs(expected.imag)), tolerance
        )
        assert signless, "f(conj(z)) is conj(f(z))"


CUTS = {
    "sqrt": [-2.0], "log": [-2.0], "log2": [-2.0], "log10": [-2.0], "acos": [2.0, -2.0], "asin": [2.0, -2.0],
    "atanh": [2.0, -2.0], "acosh": [0.5, -2.0],
}  # fmt: skip


@pytest.mark.parametrize("op", CUTS)
def test_the_sign_of_zero_tells_the_sides_of_a_branch_cut(op: str) -> None:
    functions = {"log2": lambda z: cmath.log(z) / cmath.log(2.0), "log10": cmath.log10}
    function = functions.get(op) or getattr(cmath, {"log": "log", "sqrt": "sqrt"}.get(op, op))
    for place in CUTS[op]:
        for side in (0.0, -0.0):
            z = complex(place, side)
            found = getattr(nd, op)(nd.asarray([z], dtype="complex128"))[0].item()
            assert abs(found - function(z)) < 1e-14, (z, found)


def test_small_differences_keep_their_digits() -> None:
    """expm1 and log1p near 0, by their series; log1p where the terms of the magnitude cancel; abs at both ends."""
    z = 1e-10 + 1e-10j
    array = nd.asarray([z], dtype="complex128")
    assert abs(nd.expm1(array)[0].item() / (z + z * z / 2) - 1) < 1e-15
    assert abs(nd.log1p(array)[0].item() / (z - z * z / 2) - 1) < 1e-15
    y = 1e-4
    circle = nd.asarray([complex(-y * y / 2, y)], dtype="complex128")  # |1 + z|^2 is 1 + y^4 / 4
    assert abs(nd.log1p(circle)[0].item().real / (y**4 / 8) - 1) < 1e-7
    assert nd.abs(nd.asarray([3e300 + 4e300j, 3e-320j], dtype="complex128")).tolist() == [5e300, 3e-320]
    assert nd.abs(nd.asarray([3e38 + 0j, 3e-45 + 0j])).astype("float64").tolist() == [
        float(np.float32(3e38)),
        2.0**-148,
    ]
    assert nd.abs(nd.asarray([complex(inf, nan), complex(nan, -inf)])).tolist() == [inf, inf]


@each_name
def test_division_neither_overflows_nor_vanishes_on_the_way(name: str) -> None:
    big, small = (1e30, 1e-30) if name == "complex64" else (1e200, 1e-200)
    x = nd.asarray([complex(big, big), complex(small, small)], dtype=name)
    assert nd.allclose(x / x, nd.ones(2, dtype=name))
    assert nd.allclose(nd.reciprocal(x) * x, nd.ones(2, dtype=name))
    assert (nd.asarray([1 + 1j], dtype=name) / nd.asarray([complex(inf, 0)], dtype=name)).tolist() == [0]


@each_name
def test_parts_are_views(name: str) -> None:
    x = nd.asarray([[1 + 2j, 3 - 4j], [5j, 6]], dtype=name)
    real, imag = nd.real(x), nd.imag(x)
    assert real.dtype == imag.dtype == ("float32" if name == "complex64" else "float64")
    assert real.tolist() == [[1, 3], [0, 6]] and imag.tolist() == [[2, -4], [5, 0]]
    imag[0] = 7
    real[:, 1] = nd.asarray([8.0, 9.0])
    assert x.tolist() == [[1 + 7j, 8 + 7j], [5j, 9]] and x.version > 0
    assert nd.conj(x).tolist() == [[1 - 7j, 8 - 7j], [-5j, 9]]
    assert nd.real(x.T[::-1]).tolist() == [[8, 9], [1, 0]]


def test_promotion_and_weak_scalars() -> None:
    assert nd.result_type(nd.complex64, nd.float32) is nd.result_type(nd.int64, nd.complex64) is nd.complex64
    assert nd.result_type(nd.complex64, nd.float64) is nd.result_type(nd.complex64, nd.complex128) is nd.complex128
    assert (nd.asarray([1, 2]) + 1j).dtype is nd.complex64
    assert (nd.zeros(2, dtype="float64") * 1j).dtype is nd.complex128
    assert (1j - nd.zeros(2, dtype="complex64")).dtype is (nd.zeros(2, dtype="complex64") + 1.0).dtype is nd.complex64
    assert (
        nd.asarray([1j, 2.0, True]).dtype is nd.complex64 and nd.asarray([np.complex128(1), 2j]).dtype is nd.complex128
    )
    assert nd.dtype(complex) is nd.complex64
    assert nd.can_cast(nd.float32, nd.complex64) and not nd.can_cast(nd.float64, nd.complex64)
    assert nd.finfo(nd.complex128).dtype is nd.float64
    assert nd.isdtype(nd.complex64, "complex floating") and not nd.isdtype(nd.complex64, "real floating")
    info = nd.__array_namespace_info__()
    assert info.default_dtypes()["complex floating"] is nd.complex64
    assert set(info.dtypes(kind="complex floating")) == set(NAMES)


@each_name
@pytest.mark.parametrize("device", ["cpu", "numpy"])
def test_complex_never_becomes_real_by_itself(name: str, device: str) -> None:
    x = nd.ones((2,), dtype=name, device=device)
    for target in ("float32", "float64", "float16", "int8"):
        with pytest.raises(nd.DTypeError, match=r"real\(\)"):
            x.astype(target)
    real = nd.zeros((2,), device=device)
    with pytest.raises(nd.DTypeError, match=r"real\(\)"):
        real[...] = x
    with pytest.raises(nd.DTypeError, match="real"):
        real[0] = 1j
    with pytest.raises(nd.DTypeError, match="float32"):
        nd.add(x, x, out=real)
    assert nd.asarray([0j, 1j], device=device).astype("bool").tolist() == [False, True]
    with pytest.raises(TypeError):
        float(x[0])
    assert complex(x[0]) == 1


def test_creation() -> None:
    assert (
        nd.full((2,), 1 + 2j).tolist() == [1 + 2j] * 2 and nd.full((1,), 1j, dtype="complex128").dtype is nd.complex128
    )
    assert nd.linspace(0, 1 + 2j, 3).tolist() == [0, 0.5 + 1j, 1 + 2j]
    assert nd.linspace(0, 1, 2, dtype="complex128").tolist() == [0, 1]
    assert nd.eye(2, dtype="complex64").tolist() == [[1, 0], [0, 1]]
    assert nd.asarray([[1j, 2], [3, 4.5]]).tolist() == [[1j, 2], [3, 4.5]]
    with pytest.raises(nd.DTypeError, match="arange"):
        nd.arange(3, dtype="complex64")
    with pytest.raises(nd.DTypeError, match="linspace"):
        nd.linspace(0, 1j, 3, dtype="float32")
    odd = nd.asarray([complex(-inf, nan), complex(0, inf)])
    assert str(odd.tolist()) == "[(-inf+nanj), infj]"


@pytest.mark.parametrize(
    "values", [[1 + 2j, 1.5 - 0.25j], [1 + 10j, -2 - 3.5j], [complex(nan, inf), 1e10 + 1j], [[1e-5j, 3], [2, 1]]]
)
def test_text_as_numpy(values: list[complex]) -> None:
    for name in NAMES:
        assert str(nd.asarray(values, dtype=name)) == str(np.array(values, name))
    assert repr(nd.asarray([1j])) == "array([0.+1.j])"
    assert repr(nd.asarray([1j], dtype="complex128")) == "array([0.+1.j], dtype=complex128)"


@each_name
def test_interchange(name: str, tmp_path: Path) -> None:
    values = np.array([[1 + 2j, 3], [4j, 5]], name)
    x = nd.asarray(values)
    x[0, 0] = 7j
    assert values[0, 0] == 7j and np.from_dlpack(x).dtype == name and x.numpy().dtype == name
    assert nd.from_dlpack(values).dtype == name
    np.testing.assert_array_equal(nd.asarray(values.astype(values.dtype.newbyteorder(">"))).numpy(), values)
    unaligned = np.ndarray(values.shape, name, bytearray(b"." + values.tobytes()), 1)
    np.testing.assert_array_equal(nd.asarray(unaligned).numpy(), values)
    for protocol in range(2, 6):
        assert nd.all(pickle.loads(pickle.dumps(x.T, protocol=protocol)) == x.T)
    nd.save(tmp_path / "x.npy", x.T)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), values.T)
    np.save(tmp_path / "y.npy", values.astype(values.dtype.newbyteorder(">")))
    assert nd.all(nd.load(tmp_path / "y.npy") == x)
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(x).dtype is getattr(torch, name)
    assert nd.asarray(torch.from_dlpack(x)).dtype == name


@each_name
def test_products_and_linear_algebra(name: str) -> None:
    x = nd.asarray([[2, 1j], [-1j, 3]], dtype=name)  # Hermitian
    assert nd.vecdot(x[0], x[0]).item() == 5  # the first is conjugated
    assert nd.matmul(x[0], x[0]).item() == 3  # not here
    values = x.numpy()
    for found, expected in (
        (nd.linalg.inv(x), np.linalg.inv(values)),
        (nd.linalg.cholesky(x, upper=True), np.linalg.cholesky(values).conj().T),
        (nd.linalg.pinv(x[:1]), np.linalg.pinv(values[:1])),
        (nd.linalg.vector_norm(x), np.linalg.norm(values)),
        (nd.linalg.matrix_norm(x, ord=1), np.linalg.norm(values, 1)),
        (nd.linalg.eigvalsh(x), np.linalg.eigvalsh(values)),
        (nd.tensordot(x, x), np.tensordot(values, values)),
        (nd.einsum("ij,kj->ik", x, x), values @ values.T),
        (nd.var(x, axis=0), np.var(values, axis=0)),
        (nd.std(x, correction=1), np.std(values, ddof=1)),
    ):
        assert found.dtype == np.asarray(expected).dtype.name
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_a_backend_without_a_dtype_says_which_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Few(NumpyBackend):
        name = "few"
        dtypes = ("bool", "int64", "float32", "float64")

    monkeypatch.setitem(devices._backends, "few", Few())
    for name in (*NAMES, "float16", "bfloat16"):
        with pytest.raises(nd.DTypeError, match=f"few has no {name} yet.*float32, float64"):
            nd.zeros(2, dtype=name, device="few")
    with pytest.raises(nd.DTypeError, match="complex64"):
        nd.ones(2, device="few") * 1j
    assert "complex64" not in nd.__array_namespace_info__().dtypes(device="few")


@each_name
def test_zeros_of_the_standard_are_positive(name: str) -> None:
    for op, operand in (("sign", complex(-0.0, -0.0)), ("expm1", complex(-0.0, 0.0)), ("tanh", complex(inf, 2))):
        found = getattr(nd, op)(nd.asarray([operand], dtype=name))[0].item()
        assert math.copysign(1, found.real) == math.copysign(1, found.imag) == 1, op


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 33, 2047, 2048, 2049, 70_001, 200_003])
def test_sums_of_every_length_and_layout(dtype: str, length: int) -> None:
    """Both parts of small integers, which every order adds to the same number."""
    rng = np.random.default_rng(length)
    x = (rng.integers(-9, 9, (length, 3)) + 1j * rng.integers(-9, 9, (length, 3))).astype(dtype)
    for values in (x[:, 0].copy(), x[:, 1], x[::-1, 2], x, x.T, np.asfortranarray(x)[::2]):
        for axis in range(values.ndim):
            np.testing.assert_array_equal(nd.sum(nd.asarray(values), axis=axis).numpy(), values.sum(axis))
        np.testing.assert_array_equal(nd.sum(nd.asarray(values)).numpy(), values.sum())
        if length:
            np.testing.assert_allclose(nd.mean(nd.asarray(values)).numpy(), values.mean(), rtol=1e-6, atol=1e-6)


def test_powers_of_zero() -> None:
    """abs(0^y) = exp(Re(y) log 0), so 0 where Re(y) > 0, 1 for y = 0, and else no number."""
    exponents = [0, 1, 2.5, 2.5 + 1j, 1e-5 - 100j, 1j, -1, -1 - 1j, 0.5 + 1j * math.inf]
    for dtype in ("complex64", "complex128"):
        powers = (nd.asarray([0j, -0.0j], dtype=dtype)[:, None] ** nd.asarray(exponents, dtype=dtype)).tolist()
        for row in powers:
            assert row[:5] == [1, 0, 0, 0, 0]
            assert all(cmath.isnan(each) for each in row[5:])
