"""Random numbers with a generator for each worker; arrays in files and back."""

import tempfile
from pathlib import Path
from typing import assert_type

import treadle.ndarray as nd
from treadle.ndarray import NDArray
from treadle.ndarray.random import Generator

generator = nd.random.Generator(7)
assert_type(generator, Generator)
assert_type(generator.spawn(4), list[Generator])
assert_type(generator.jump(), Generator)
assert_type(generator.state(), dict[str, int])
assert_type(generator.normal(0.0, 1.0, (3, 2), dtype=nd.float64), NDArray)
assert_type(nd.random.uniform(-1.0, 1.0, (4,)), NDArray)
assert_type(nd.random.integers(0, 10, (5,)), NDArray)
assert_type(nd.random.permutation(5), NDArray)
assert_type(nd.random.manual_seed(0), Generator)


def estimate_of_pi(points: int, generator: Generator) -> float:
    x, y = generator.uniform(shape=(2, points))
    return 4.0 * float(nd.mean((x * x + y * y < 1.0).astype(nd.float32)))


def mean_of_files(folder: Path) -> NDArray:
    arrays: list[NDArray] = [nd.load(path) for path in sorted(folder.glob("*.npy"))]
    return nd.mean(nd.stack(arrays), axis=0)


assert abs(estimate_of_pi(10_000, generator) - 3.14) < 0.1
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for place in range(3):
        nd.save(folder / f"{place}.npy", nd.full((2,), float(place)))
    nd.savez(folder / "both.npz", weights=nd.ones(2), bias=nd.zeros(1))
    members: dict[str, NDArray] = nd.load(folder / "both.npz")
    assert sorted(members) == ["bias", "weights"]
    assert mean_of_files(folder).tolist() == [1.0, 1.0]
    mapped: NDArray = nd.load(folder / "0.npy", mmap_mode="r")
    assert_type(mapped.readonly, bool)
    assert mapped.readonly


def mistakes() -> None:
    """Never called: each line is an error that mypy must find, or the ignore would be unused."""
    nd.load("x.npy", mmap_mode="w")  # type: ignore[arg-type]
    nd.save(nd.zeros(2), "x.npy")  # type: ignore[arg-type]
    generator.normal("0")  # type: ignore[arg-type]
    nd.random.uniform(shape=(2.5,))  # type: ignore[arg-type]
