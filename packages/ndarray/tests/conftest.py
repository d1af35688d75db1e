"""What several files of tests use."""

import os
from collections.abc import Callable, Iterator

import pytest

import treadle.ndarray as nd
from treadle.ndarray import _runtime

IN_USE = _runtime.from_name(nd.isa())
INSTRUCTION_SETS = [IN_USE] if "TREADLE_ISA" in os.environ else range(_runtime.detect() + 1)


@pytest.fixture(params=INSTRUCTION_SETS, ids=_runtime.name_of)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    """All kernels of each instruction set that the processor has, or of the one that is asked for."""
    _runtime.select(request.param)
    yield
    _runtime.select(IN_USE)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets the number of threads, until the test ends."""
    before = nd.get_num_threads()
    yield nd.set_num_threads
    nd.set_num_threads(before)
