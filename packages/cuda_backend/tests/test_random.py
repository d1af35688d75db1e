"""The same seed gives the same bits on every device."""

from collections.abc import Callable

import numpy as np
import pytest

import treadle.ndarray as nd

DRAWS: dict[str, Callable[[nd.random.Generator, str, int], nd.NDArray]] = {
    "uniform float32": lambda generator, device, n: generator.uniform(-2.0, 3.0, (n,), dtype="float32", device=device),
    "uniform float64": lambda generator, device, n: generator.uniform(-2.0, 3.0, (n,), dtype="float64", device=device),
    "integers": lambda generator, device, n: generator.integers(-5, 1000, (n,), device=device),
    "bernoulli": lambda generator, device, n: generator.bernoulli(0.3, (n,), device=device),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 1027])
def test_bits(device: str, grid: int, draw: str, length: int) -> None:
    on_device, on_cpu = nd.random.Generator(7), nd.random.Generator(7)
    for _ in range(2):  # the second draw starts behind the first
        got = DRAWS[draw](on_device, device, length).numpy()
        expected = DRAWS[draw](on_cpu, "numpy", length).numpy()
        assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normals(device: str, grid: int, dtype: str) -> None:
    draws = [nd.random.Generator(7).normal(1.0, 2.0, (1027,), dtype=dtype, device=name) for name in (device, "numpy")]
    got, expected = (draw.numpy() for draw in draws)
    np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
