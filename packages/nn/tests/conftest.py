"""Fixtures of the tests of treadle.nn, treadle.optim and treadle.data."""

from collections.abc import Iterator
from typing import Any

import pytest

import treadle.ndarray as nd


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Every test draws the same numbers."""
    nd.random.manual_seed(0)


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The default device of the test: each that needs no hardware."""
    with nd.use_device(request.param) as chosen:
        yield chosen


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, the oracle, where it is installed."""
    return pytest.importorskip("torch")
