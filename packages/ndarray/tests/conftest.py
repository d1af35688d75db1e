"""What several files of tests use."""

from collections.abc import Callable, Iterator

import pytest

import treadle.ndarray as nd
from treadle.ndarray import _matmul, _runtime


@pytest.fixture(params=range(_runtime.detect() + 1), ids=_runtime.name_of)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    """Matrix products and convolutions by each instruction set that the processor has."""
    before = _runtime.from_name(nd.isa())
    _matmul.select(request.param)
    yield
    _matmul.select(before)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads, until the test ends."""
    before = nd.get_num_threads()
    yield nd.set_num_threads
    nd.set_num_threads(before)
