"""The counter-based generator: published vectors, and the same bits on every device."""

from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from strategies import DEVICES
from treadle.ndarray import numpy_random

# Known answers of Philox 4x32-10 from the Random123 distribution (D. E. Shaw Research), kat_vectors.
ONES = 0xFFFFFFFF
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]

each_device = pytest.mark.parametrize("device", DEVICES)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN_ANSWERS)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, int], words: tuple[int, ...]) -> None:
    drawn = numpy_random.rounds([np.array([word], np.uint64) for word in counter], key)
    assert tuple(int(word[0]) for word in drawn) == words


@each_device
def test_the_first_block_of_key_0_is_the_known_answer(device: str) -> None:
    """A float32 uniform is the upper 24 bits of its word; an integer below 2^32 the high word of its pair."""
    generator = nd.random.Generator(0)
    state = generator.state()
    words = KNOWN_ANSWERS[0][2]
    uniform = generator.uniform(0.0, 1.0, (4,), dtype=nd.float32, device=device)
    assert uniform.tolist() == [(word >> 8) / 2**24 for word in words]
    generator.set_state(state)
    assert generator.integers(0, 2**32, (2,), device=device).tolist() == [words[1], words[3]]


DRAWS: dict[str, Any] = {
    "uniform float32": lambda g, n, d: g.uniform(-2.0, 3.0, (n,), dtype=nd.float32, device=d),
    "uniform float64": lambda g, n, d: g.uniform(-2.0, 3.0, (n,), dtype=nd.float64, device=d),
    "integers": lambda g, n, d: g.integers(-7, 1000, (n,), device=d),
    "integers of 64 bits": lambda g, n, d: g.integers(-(2**62), 2**62, (n,), device=d),
    "bernoulli": lambda g, n, d: g.bernoulli(0.3, (n,), device=d),
}


@each_device
@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 1001])
def test_every_device_draws_the_same_bits(device: str, kind: str, size: int) -> None:
    here, there = nd.random.Generator(2**63 + 12345), nd.random.Generator(2**63 + 12345)
    for _ in range(2):  # the second draw starts where the first one ended
        drawn = DRAWS[kind](here, size, device)
        expected = DRAWS[kind](there, size, "cpu")
        assert drawn.to_device("cpu").numpy().tobytes() == expected.numpy().tobytes()
    assert here.state() == there.state()


@each_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normals_agree_to_the_last_places(device: str, dtype: str) -> None:
    """The logarithm, sine and cosine of two libraries may differ in the last bits: each is right within 2 ulp."""
    drawn, expected = (
        nd.random.Generator(3).normal(1.0, 2.0, (1001,), dtype=nd.dtype(dtype), device=each).to_device("cpu").numpy()
        for each in (device, "cpu")
    )
    tolerance = 8 * float(np.finfo(dtype).eps) * (1.0 + np.abs(expected - 1.0))
    assert np.all(np.abs(drawn - expected) <= tolerance)


NARROW_AND_COMPLEX = [
    (device, dtype) for device in DEVICES for dtype in ("float16", "bfloat16", "complex64", "complex128")
]


@pytest.mark.parametrize(("device", "dtype"), NARROW_AND_COMPLEX)
@pytest.mark.parametrize("size", [0, 1, 3, 1001])
def test_halves_and_complex_numbers_have_the_same_bits(device: str, dtype: str, size: int) -> None:
    here, there = nd.random.Generator(77), nd.random.Generator(77)
    for _ in range(2):
        drawn = here.uniform(-2.0, 3.0, (size,), dtype=dtype, device=device)
        expected = there.uniform(-2.0, 3.0, (size,), dtype=dtype, device="cpu")
        assert drawn.dtype == dtype and drawn.device == device
        assert drawn.to_device("cpu").tolist() == expected.tolist()
    assert here.state() == there.state()


@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("bfloat16", 8)])
def test_uniform_halves_are_the_upper_bits(dtype: str, digits: int) -> None:
    words = KNOWN_ANSWERS[0][2]
    drawn = nd.random.Generator(0).uniform(shape=(4,), dtype=dtype)
    assert drawn.tolist() == [(word >> 32 - digits) / 2**digits for word in words]
    many = nd.random.Generator(1).uniform(shape=(100_000,), dtype=dtype)
    assert many.min().item() >= 0.0 and many.max().item() == 1.0 - 2.0**-digits


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_normal_halves_are_the_float64_numbers_rounded_once(dtype: str) -> None:
    wide = nd.random.Generator(4).normal(1.0, 3.0, (1001,), dtype="float64")
    narrow = nd.random.Generator(4).normal(1.0, 3.0, (1001,), dtype=dtype)
    assert narrow.tolist() == wide.astype(dtype).tolist()
    for name in ("exponential", "laplace", "gumbel", "truncated_normal"):
        drawn = getattr(nd.random.Generator(4), name)(shape=(100,), dtype=dtype)
        expected = getattr(nd.random.Generator(4), name)(shape=(100,), dtype="float64").astype(dtype)
        assert drawn.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_normals_are_circular(dtype: str) -> None:
    """Half of the variance in each part, and none between them (C. van den Bos, "The multivariate complex normal
    distribution", 1995)."""
    size = 20_000
    drawn = nd.random.Generator(9).normal(1.0 - 2.0j, 3.0, (size,), dtype=dtype).numpy().astype("c16")
    centred, errors = drawn - (1.0 - 2.0j), 5 / np.sqrt(size)
    assert abs(centred.mean()) < 3.0 * errors
    for part in (centred.real, centred.imag):
        assert abs(part.var() - 4.5) < 4.5 * np.sqrt(2) * errors
    assert abs((centred.real * centred.imag).mean()) < 4.5 * errors
    uniform = nd.random.Generator(9).uniform(-1.0, 1.0, (size,), dtype=dtype).numpy()
    assert abs(np.abs(uniform).max() - np.sqrt(2)) < 0.05 and abs(uniform.mean()) < errors


def test_what_is_not_drawn() -> None:
    generator = nd.random.Generator(0)
    with pytest.raises(nd.DTypeError, match=r"^gamma: "):
        generator.gamma(1.0, dtype="complex64")
    with pytest.raises(nd.DTypeError, match=r"^uniform: "):
        generator.uniform(dtype="int32")
    with pytest.raises(nd.DTypeError, match=r"^normal: "):
        generator.normal(1j)


@each_device
def test_moments(device: str) -> None:
    """Means and variances lie within five standard errors of the distributions'."""
    size = 20_000
    generator = nd.random.Generator(11)
    uniform = generator.uniform(0.0, 1.0, (size,), device=device).to_device("cpu").numpy().astype(np.float64)
    normal = generator.normal(0.0, 1.0, (size,), device=device).to_device("cpu").numpy().astype(np.float64)
    chosen = generator.bernoulli(0.3, (size,), device=device).to_device("cpu").numpy().astype(np.float64)
    errors = 5 / np.sqrt(size)
    assert abs(uniform.mean() - 0.5) < errors * np.sqrt(1 / 12)
    assert abs(uniform.var() - 1 / 12) < errors * np.sqrt(1 / 180)
    assert abs(normal.mean()) < errors
    assert abs(normal.var() - 1) < errors * np.sqrt(2)
    assert abs(chosen.mean() - 0.3) < errors * np.sqrt(0.21)


@each_device
@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_permutations(device: str, size: int) -> None:
    with nd.use_device(device):
        drawn = nd.random.Generator(5).permutation(size)
    assert sorted(drawn.tolist()) == list(range(size))
    assert drawn.tolist() == nd.random.Generator(5).permutation(size).tolist()


@each_device
def test_manual_seed_restarts_the_default_generator(device: str) -> None:
    nd.random.manual_seed(42)
    first = nd.random.uniform(0.0, 1.0, (5,), device=device).tolist()
    second = nd.random.uniform(0.0, 1.0, (5,), device=device).tolist()
    nd.random.manual_seed(42)
    assert nd.random.uniform(0.0, 1.0, (5,), device=device).tolist() == first
    assert first != second
