"""float16 and bfloat16: conversion of every number, promotion, interchange, what is refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from strategies import DEVICES

HALVES = ("float16", "bfloat16")
BITS = np.arange(1 << 16, dtype=np.uint32)
each_half = pytest.mark.parametrize("name", HALVES)
each_device = pytest.mark.parametrize("device", DEVICES)


def from_bits(name: str, bits: Any, device: str = "cpu") -> nd.NDArray:
    return nd.frombuffer(np.ascontiguousarray(bits.astype(np.uint16)), dtype=name).to_device(device)


def to_bits(x: nd.NDArray) -> Any:
    buffers: list[Any] = []
    pickle.dumps(x.to_device("cpu"), protocol=5, buffer_callback=buffers.append)
    return np.frombuffer(buffers[0], np.uint16)


def singles(name: str) -> Any:
    """What every pattern of bits means, as float32: by NumPy for float16, by the definition for bfloat16."""
    if name == "float16":
        with np.errstate(invalid="ignore"):
            return BITS.astype(np.uint16).view(np.float16).astype(np.float32)
    return (BITS << 16).view(np.float32)


@each_device
@each_half
def test_every_number_becomes_float32_and_back(name: str, device: str) -> None:
    wide = from_bits(name, BITS, device).astype("float32")
    expected = singles(name)
    np.testing.assert_array_equal(wide.to_device("cpu").numpy(), expected)
    quiet = np.where(np.isnan(expected), 0x40 if name == "bfloat16" else 0x200, 0)
    np.testing.assert_array_equal(to_bits(wide.astype(name)) | quiet, BITS | quiet)


@each_device
def test_rounding_to_float16_is_numpys(device: str) -> None:
    """Midpoints between all neighbours, what lies next to them in float64 and float32, and the ends of the range."""
    grid = np.sort(singles("float16")[:0x7C01].astype(np.float64))
    grid[-1] = 65536.0  # where the next number would be
    middle = (grid[1:] + grid[:-1]) / 2
    wide = np.concatenate([grid, middle, np.nextafter(middle, 0), np.nextafter(middle, 1e6), [1e-300, 1e300, 5e-324]])
    wide = np.concatenate([wide, -wide])
    with np.errstate(all="ignore"):
        for values in (wide, wide.astype(np.float32), np.nextafter(middle.astype(np.float32), np.float32(0))):
            actual = to_bits(nd.asarray(values, device=device).astype("float16"))
            np.testing.assert_array_equal(actual, values.astype(np.float16).view(np.uint16))


@each_device
def test_rounding_to_bfloat16_is_to_even(device: str) -> None:
    """The midpoint of two neighbours goes to the even one, and the least bit more or less decides otherwise."""
    low = BITS[:0x7F80]
    middle = ((low << 16) | 0x8000).view(np.float32)
    even = low + (low & 1)
    for values, expected in (
        (middle, even),
        (np.nextafter(middle, np.float32(0)), low),
        (np.nextafter(middle, np.float32(np.inf)), low + 1),
        (middle.astype(np.float64), even),
        (np.nextafter(middle.astype(np.float64), 0), low),
        (np.nextafter(middle.astype(np.float64), np.inf), low + 1),
    ):
        np.testing.assert_array_equal(to_bits(nd.asarray(values, device=device).astype("bfloat16")), expected)
        np.testing.assert_array_equal(to_bits(nd.asarray(-values, device=device).astype("bfloat16")), expected | 0x8000)


@each_device
@each_half
def test_conversion_to_and_from_every_dtype(name: str, device: str) -> None:
    x = nd.asarray([0.0, 1.0, 2.5, 100.0], device=device).astype(name)
    for other in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float64", *HALVES):
        expected = np.array([0.0, 1.0, 2.5, 100.0]).astype(other if other not in HALVES else "float32")
        assert x.astype(other).astype("float64").tolist() == expected.astype(float).tolist()
        assert x.astype(other).astype(name).astype("float64").tolist() == expected.astype(float).tolist()
    assert x[::-2].astype("complex64").tolist() == [100, 1]


def test_promotion() -> None:
    half, brain = nd.float16, nd.bfloat16
    for each in (half, brain):
        assert nd.result_type(each, nd.float32) is nd.float32
        assert nd.result_type(nd.float64, each) is nd.float64
        assert nd.result_type(each, nd.int64) is each and nd.result_type(nd.bool, each) is each
        assert nd.result_type(each, 1e300) is each and nd.result_type(each, 2) is each
        assert nd.result_type(each, 1j) is nd.complex64 and nd.result_type(each, nd.complex128) is nd.complex128
        assert (nd.ones(2, dtype=each) + 1.5).dtype is each
        assert nd.can_cast(each, nd.float32) and not nd.can_cast(nd.float32, each) and not nd.can_cast(nd.int8, each)
    assert nd.result_type(half, brain) is nd.float32
    assert (nd.ones(2, dtype=half) * nd.ones(2, dtype=brain)).dtype is nd.float32


def test_limits() -> None:
    ours, theirs = nd.finfo(nd.float16), np.finfo(np.float16)
    assert [ours.bits, ours.eps, ours.max] == [16, float(theirs.eps), float(theirs.max)]
    assert ours.smallest_normal == float(theirs.tiny)
    brain = nd.finfo(nd.bfloat16)
    assert (brain.bits, brain.eps, brain.smallest_normal) == (16, 2.0**-7, 2.0**-126)
    assert brain.max == float.fromhex("0x1.fep127")


def test_names() -> None:
    assert nd.dtype(np.float16) is nd.dtype(np.dtype("float16")) is nd.float16
    assert nd.dtype("bfloat16") is nd.bfloat16 and nd.bfloat16.itemsize == 2 and nd.bfloat16.kind == "f"
    assert nd.asarray(np.float16(1.5)).dtype is nd.float16
    assert nd.isdtype(nd.bfloat16, "real floating")


@each_half
def test_text_and_scalars(name: str) -> None:
    x = nd.asarray([0.1, 1.5], dtype=name)
    assert str(x) == "[0.1 1.5]" and repr(x) == f"array([0.1, 1.5], dtype={name})"
    assert x[1].item() == 1.5 and float(x[1]) == 1.5 and x.tolist()[1] == 1.5
    assert str(nd.asarray([1e30, -np.inf, np.nan], dtype="bfloat16")) == str(np.array([1e30, -np.inf, np.nan], "f4"))
    values = np.array([65504, 0.1, 6e-8, -1.5], np.float16)
    assert str(nd.asarray(values)) == str(values)


def test_float16_is_shared_with_numpy() -> None:
    values = np.array([[1.5, 2.0], [3.0, 4.0]], np.float16)
    x = nd.asarray(values)
    x[0, 0] = 7
    assert values[0, 0] == 7 and x.numpy().dtype == np.float16
    np.testing.assert_array_equal(nd.asarray(values.astype(">f2")).numpy(), values)


@each_half
def test_torch_by_dlpack(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = nd.asarray([[1.5, 2.0], [3.0, 4.0]], dtype=name)
    tensor = torch.from_dlpack(x)
    assert tensor.dtype is getattr(torch, name)
    tensor[0, 0] = 9
    assert x[0, 0].item() == 9
    back = nd.from_dlpack(tensor.T)
    assert back.dtype == name and nd.all(back == x.T)


def test_bfloat16_has_no_buffer_and_no_file() -> None:
    x = nd.ones(2, dtype="bfloat16")
    for call in (x.numpy, lambda: memoryview(x)):
        with pytest.raises(BufferError, match=r"bfloat16.*DLPack"):
            call()
    with pytest.raises(nd.DTypeError, match=r"bfloat16.*float32"):
        nd.save("absent.npy", x)


@each_half
@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickling(name: str, protocol: int) -> None:
    x = nd.asarray([[1.5, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=name)
    for each in (x, x.T, x[:, ::2], x[:0]):
        back = pickle.loads(pickle.dumps(each, protocol=protocol))
        assert back.dtype == name and back.tolist() == each.tolist()


def test_files(tmp_path: Path) -> None:
    x = nd.asarray([[1.5, 2.0], [3.0, 4.0]], dtype="float16")
    nd.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x.numpy())
    assert nd.load(tmp_path / "x.npy").dtype is nd.float16


@each_half
def test_what_has_no_kernel_says_so(name: str) -> None:
    x = nd.ones(3, dtype=name)
    with pytest.raises(nd.DTypeError, match="float32 or float64"):
        nd.sgd_step(x, x.copy(), x.copy(), lr=0.1, momentum=0.9)
    with pytest.raises(nd.DTypeError, match="bitwise_and"):
        nd.bitwise_and(x, x)


@each_device
@each_half
def test_scatter_add_counts_repeats(name: str, device: str) -> None:
    into = nd.zeros((3,), dtype=name, device=device)
    index = nd.asarray([0, 2, 0], device=device)
    assert nd.scatter_add(into, index, nd.asarray([1.0, 2.0, 0.5], dtype=name, device=device)).tolist() == [
        1.5,
        0.0,
        2.0,
    ]


@each_half
def test_linear_algebra_and_composites_keep_the_dtype(name: str) -> None:
    x = nd.asarray([[4.0, 1.0], [1.0, 3.0]], dtype=name)
    for result in (
        nd.linalg.inv(x),
        nd.linalg.cholesky(x),
        nd.softmax(x),
        nd.log_softmax(x),
        nd.logsumexp(x),
        nd.std(x),
    ):
        assert result.dtype == name
    assert nd.allclose(nd.linalg.inv(x) @ x, nd.eye(2, dtype=name), atol=0.02)
    assert nd.softmax(nd.zeros((2, 4), dtype=name)).tolist() == [[0.25] * 4] * 2


@each_half
@each_device
@pytest.mark.parametrize("size", [0, 1, 5, 40_000])
def test_places_and_groups(name: str, device: str, size: int) -> None:
    """Searching and grouping by order, as float32 does it."""
    rng = np.random.default_rng(size)
    numbers = (rng.integers(-40, 40, size) / 4).astype(np.float32)
    x = nd.asarray(numbers, device=device).astype(name)
    ordered = np.sort(numbers)
    for side in ("left", "right"):
        places = nd.searchsorted(nd.sort(x), x, side=side)
        np.testing.assert_array_equal(np.asarray(places.tolist(), np.int64), np.searchsorted(ordered, numbers, side))
    found = nd.unique_all(x)
    values, first, inverse, counts = np.unique(numbers, return_index=True, return_inverse=True, return_counts=True)
    assert found.values.dtype == name
    for actual, expected in zip(found, (values, first, inverse, counts), strict=True):
        assert actual.tolist() == expected.tolist()
    assert nd.isin(x, x[:1]).tolist() == np.isin(numbers, numbers[:1]).tolist()
