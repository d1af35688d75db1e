"""The extension ``fft`` on every device, against its definition and NumPy in double precision."""

import math
import operator
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from strategies import COMPLEX, DEVICES, FLOATS, HALVES, operands

fft = nd.fft
each_device = pytest.mark.parametrize("device", DEVICES)
with_complex = pytest.mark.parametrize("device", ["cpu", "numpy"])
"""The devices that have complex dtypes."""

FROM_REAL, TO_REAL = ("rfft", "ihfft", "rfftn"), ("irfft", "hfft", "irfftn")
ALONG_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
ALONG_AXES = ("fftn", "ifftn", "rfftn", "irfftn")
NORMS = ("backward", "ortho", "forward")
SINGLE = ("float32", "complex64")
SHAPES = st.sampled_from([(1,), (2,), (7,), (16,), (3, 5), (4, 1), (2, 3, 4), (1, 2, 5)])


def plain(value: Any) -> bool:
    """Nothing that would overflow, or come out in another order."""
    return bool(0.25 <= abs(value) <= 2 or value == 0)


def dtypes(name: str) -> st.SearchStrategy[str]:
    return st.sampled_from(FLOATS if name in FROM_REAL else [*FLOATS, *COMPLEX])


def host(x: nd.NDArray) -> Any:
    return x.to_device("cpu").numpy()


def assert_near(actual: nd.NDArray, expected: Any, operand: Any, name: str) -> None:
    """The dtype is that of the operand's precision; the error is that of roundings, beside the sum of magnitudes."""
    single = operand.dtype.name in SINGLE
    real, wide = ("float32", "complex64") if single else ("float64", "complex128")
    assert actual.dtype == (real if name in TO_REAL else wide)
    assert actual.shape == expected.shape and actual.is_contiguous
    bound = 8 * float(np.finfo(real).eps) * (1.0 + float(np.abs(operand).sum()))
    assert np.abs(host(actual) - expected).max(initial=0.0) <= bound


@with_complex
@pytest.mark.parametrize("name", ALONG_AXIS)
@hypothesis.settings(max_examples=40)
@hypothesis.given(data=st.data())
def test_along_an_axis(name: str, device: str, data: st.DataObject) -> None:
    """In every layout, cut, filled up and as it is."""
    shape = data.draw(SHAPES)
    operand = data.draw(operands(data.draw(dtypes(name)), shape, (-2.0, 2.0), plain))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    arguments = {"axis": axis, "norm": data.draw(st.sampled_from(NORMS))}
    if (name in TO_REAL and shape[axis] == 1) or data.draw(st.booleans()):
        arguments["n"] = data.draw(st.integers(1, 2 * shape[axis] + 1))
    hypothesis.note(f"nd.fft.{name}({operand.code(device)}, **{arguments})")
    x = operand.numpy()
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    assert_near(
        getattr(fft, name)(operand.array(device), **arguments), getattr(np.fft, name)(wide, **arguments), x, name
    )


@with_complex
@pytest.mark.parametrize("name", ALONG_AXES)
@hypothesis.settings(max_examples=40)
@hypothesis.given(data=st.data())
def test_along_axes(name: str, device: str, data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    operand = data.draw(operands(data.draw(dtypes(name)), shape, (-2.0, 2.0), plain))
    everywhere = range(-len(shape), 0)
    axes = data.draw(st.none() | st.lists(st.sampled_from(everywhere), min_size=1, unique=True).map(tuple))
    lengths = [shape[axis] for axis in (everywhere if axes is None else axes)]
    s = None
    if axes is not None and (name == "irfftn" or data.draw(st.booleans())):
        s = tuple(data.draw(st.integers(1, 2 * length + 1) | st.just(-1)) for length in lengths[:-1])
        s += (data.draw(st.integers(1, 2 * lengths[-1] + 1)),)
    hypothesis.assume(name != "irfftn" or s is not None or lengths[-1] > 1)
    arguments = {"s": s, "axes": axes, "norm": data.draw(st.sampled_from(NORMS))}
    hypothesis.note(f"nd.fft.{name}({operand.code(device)}, **{arguments})")
    x = operand.numpy()
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    assert_near(
        getattr(fft, name)(operand.array(device), **arguments), getattr(np.fft, name)(wide, **arguments), x, name
    )


@each_device
def test_real_results_on_every_device(device: str) -> None:
    """Through the host, and back to where the operand is."""
    values = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    x, expected = nd.asarray(values, device=device).T[:, ::2], values.astype(float).T[:, ::2]
    for name in TO_REAL:
        result = getattr(fft, name)(x)
        assert result.device == device
        assert_near(result, getattr(np.fft, name)(expected), values, name)


@with_complex
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_definition(n: int, norm: str, device: str) -> None:
    """The matrix exp(-2j pi j k / n), divided by n, its root or nothing."""
    turns = np.exp(-2j * math.pi * np.outer(np.arange(n), np.arange(n)) / n)
    there = {"backward": 1.0, "ortho": 1 / math.sqrt(n), "forward": 1 / n}[norm]
    x = np.random.default_rng(n).standard_normal((3, n)) + 1j * np.random.default_rng(n + 1).standard_normal((3, n))
    array = nd.asarray(x, device=device)
    expected = x @ turns * there
    np.testing.assert_allclose(host(fft.fft(array, norm=norm)), expected, atol=1e-13)
    np.testing.assert_allclose(host(fft.ifft(array, norm=norm)), x @ turns.conj() / n / there, atol=1e-13)
    np.testing.assert_allclose(host(fft.fft(array.T, axis=0, norm=norm)), expected.T, atol=1e-13)
    real = nd.real(array)
    np.testing.assert_allclose(host(fft.rfft(real, norm=norm)), (x.real @ turns * there)[:, : n // 2 + 1], atol=1e-13)
    assert fft.rfft(real, n=n).shape == (3, n // 2 + 1)


@with_complex
@hypothesis.given(data=st.data())
def test_inverses_lead_back(device: str, data: st.DataObject) -> None:
    shape, norm = data.draw(SHAPES), data.draw(st.sampled_from(NORMS))
    operand = data.draw(operands("float64", shape, (-2.0, 2.0), plain))
    x, values, n = operand.array(device), operand.numpy(), shape[-1]
    for there, back in (("fft", "ifft"), ("rfft", "irfft"), ("ihfft", "hfft")):
        result = getattr(fft, back)(getattr(fft, there)(x, norm=norm), n=n, norm=norm)
        np.testing.assert_allclose(host(result), values, atol=1e-12)
    np.testing.assert_allclose(host(fft.ifftn(fft.fftn(x, norm=norm), norm=norm)), values, atol=1e-12)
    s, axes = shape, tuple(range(len(shape)))
    result = fft.irfftn(fft.rfftn(x, norm=norm), s=s, axes=axes, norm=norm)
    np.testing.assert_allclose(host(result), values, atol=1e-12)
    np.testing.assert_allclose(host(fft.irfftn(fft.rfftn(x), s=s)), values, atol=1e-12)  # s alone: the last axes


@each_device
@pytest.mark.parametrize("n", [1, 2, 5, 8, 31])
def test_frequencies(n: int, device: str) -> None:
    for name in ("fftfreq", "rfftfreq"):
        for dtype in (None, "float32", "float64"):
            found = getattr(fft, name)(n, d=0.3, dtype=dtype, device=device)
            assert found.device == device and found.dtype == (dtype or "float32")
            expected = getattr(np.fft, name)(n, d=0.3)
            np.testing.assert_allclose(host(found), expected, rtol=1e-15 if dtype == "float64" else 1e-7)
        assert getattr(fft, name)(n, dtype="float16").dtype == nd.float16


@each_device
@hypothesis.given(data=st.data())
def test_shifts(device: str, data: st.DataObject) -> None:
    """Of every dtype, which is kept, and of arrays without elements."""
    shape = data.draw(SHAPES | st.sampled_from([(0,), (2, 0, 3)]))
    operand = data.draw(operands(data.draw(st.sampled_from(["bool", "int8", "float32"])), shape))
    places = st.sampled_from(range(-len(shape), len(shape)))
    axes = data.draw(st.none() | places | st.lists(places, unique_by=lambda axis: axis % len(shape)))
    for name in ("fftshift", "ifftshift"):
        found = getattr(fft, name)(operand.array(device), axes=axes)
        assert found.device == device and found.dtype == operand.base.dtype.name
        np.testing.assert_array_equal(host(found), getattr(np.fft, name)(operand.numpy(), axes=axes))
        assert getattr(fft, name)(nd.asarray(3, device=device)).item() == 3


@with_complex
def test_other_dtypes_are_transformed_as_float32(device: str) -> None:
    expected = np.fft.fft([1.0, 0.0, 1.0, 1.0])
    for dtype in ("bool", "int8", "int64", "uint16", *HALVES):
        x = nd.asarray([1, 0, 1, 1], device=device).astype(dtype)
        assert fft.fft(x).dtype == fft.fftn(x).dtype == fft.fftn(x, axes=()).dtype == nd.complex64
        assert fft.irfft(x).dtype == fft.hfft(x).dtype == nd.float32
        np.testing.assert_allclose(host(fft.fft(x)), expected, atol=1e-6)
        np.testing.assert_allclose(host(fft.rfft(x)), expected[:3], atol=1e-6)


@with_complex
def test_without_axes_there_is_nothing_to_do_but_a_copy(device: str) -> None:
    for dtype, wide in (("float32", "complex64"), ("complex64",) * 2, ("float64", "complex128"), ("complex128",) * 2):
        for x in (nd.ones((2, 0), dtype=dtype, device=device), nd.ones((2, 2), dtype=dtype, device=device)):
            result = fft.fftn(x, axes=())
            assert result.dtype == wide and result.shape == x.shape and nd.all(result == x)
            result[...] = 5
            assert nd.all(x == 1)
    assert fft.ifftn(nd.asarray(2.0, device=device)).item() == 2


@with_complex
def test_empty_axes(device: str) -> None:
    """Another axis may be empty; one to be transformed must be filled up."""
    x = nd.zeros((0, 3), device=device)
    assert fft.fft(x).shape == (0, 3) and fft.rfft(x).shape == (0, 2) and fft.irfft(x).shape == (0, 4)
    assert fft.fft(x, axis=0, n=4).tolist() == [[0.0] * 3] * 4
    for name in (*ALONG_AXIS, *ALONG_AXES):
        argument: Any = {"axes": (0,)} if name.endswith("n") else {"axis": 0}
        with pytest.raises(nd.ShapeError, match=rf"{name}: shape \(0, 3\): there must be 1 element"):
            getattr(fft, name)(x, **argument)
    for name in ("irfft", "hfft", "irfftn"):  # of 1 number none is left
        with pytest.raises(nd.ShapeError, match=f"{name}.*not 0"):
            getattr(fft, name)(nd.ones((1,), device=device))


X, Z = nd.ones((2, 3)), nd.ones((2, 3), dtype="complex64")
REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (nd.AxisError, "fft: axis 2", lambda: fft.fft(X, axis=2)),
    (nd.AxisError, "fft: axis -1", lambda: fft.fft(nd.asarray(1.0))),
    (nd.AxisError, "fftn: axis -3", lambda: fft.fftn(X, s=(2, 2, 2))),
    (nd.AxisError, "ifftshift: axis 5", lambda: fft.ifftshift(X, axes=5)),
    (nd.ShapeError, r"ifft: shape \(2, 3\): .* not 0", lambda: fft.ifft(X, n=0)),
    (nd.ShapeError, r"rfftn: shape \(2, 3\): .* not -2", lambda: fft.rfftn(X, s=(-2, 3), axes=(0, 1))),
    (nd.ShapeError, r"fftn: shape \(2, 3\): axes \(0, 0\)", lambda: fft.fftn(X, axes=(0, 0))),
    (nd.ShapeError, r"fftn: .* s \(1,\)", lambda: fft.fftn(X, s=(1,), axes=(0, 1))),
    (nd.ShapeError, "rfftn: .*at least one axis", lambda: fft.rfftn(X, axes=())),
    (nd.ShapeError, "irfftn: .*at least one axis", lambda: fft.irfftn(nd.asarray(1.0))),
    (nd.ShapeError, "fftfreq: .* not 0", lambda: fft.fftfreq(0)),
    (nd.ShapeError, "rfftfreq: .* not -1", lambda: fft.rfftfreq(-1)),
    (nd.DTypeError, "rfft: complex64", lambda: fft.rfft(Z)),
    (nd.DTypeError, "ihfft: complex64", lambda: fft.ihfft(Z)),
    (nd.DTypeError, "rfftn: complex64", lambda: fft.rfftn(Z)),
    (nd.DTypeError, "fftfreq: int32", lambda: fft.fftfreq(3, dtype="int32")),
    (nd.DTypeError, "rfftfreq: complex64", lambda: fft.rfftfreq(3, dtype="complex64")),
    (ValueError, "fft: norm is .* not 'none'", lambda: fft.fft(X, norm="none")),
    (TypeError, "pass an int", lambda: operator.methodcaller("fft", X, n=2.0)(fft)),
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=[message for _, message, _ in REFUSED])
def test_what_is_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()


def test_nothing_warns_and_nan_goes_through() -> None:
    found = fft.fft(nd.asarray([1.0, nd.nan, 3e38, nd.inf]))
    assert nd.all(nd.isnan(found)).item()


def test_nothing_is_copied_on_the_way() -> None:
    """NumPy reads the operand's memory, and its result is taken over as it is."""
    calls: list[Any] = []
    original = np.fft.fft

    def seen(values: Any, **options: Any) -> Any:
        calls.append((values, original(values, **options)))
        return calls[-1][1]

    x = nd.ones((4, 6))[:, ::2].T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.fft, "fft", seen)
        result = fft.fft(x)
    ((values, made),) = calls
    assert np.shares_memory(values, x.numpy()) and np.shares_memory(made, result.numpy())
