"""The devices that the kernels run on here: always the host, and a GPU where there is one."""

from collections.abc import Iterator

import pytest

import treadle.cuda
from treadle.cuda import _emulated

DEVICES = ["cuda_emulated", *(["cuda"] if treadle.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each device in turn."""
    name: str = request.param
    return name


@pytest.fixture(params=["forward", "reversed"])
def schedule(request: pytest.FixtureRequest) -> Iterator[str]:
    """The order of the emulated threads."""
    _emulated.set_schedule(request.param)
    yield request.param
    _emulated.set_schedule("forward")


@pytest.fixture(params=[0, 3], ids=["any_grid", "small_grid"])
def grid(request: pytest.FixtureRequest, device: str) -> Iterator[int]:
    """The usual grid, and one of so few blocks that every kernel has to loop."""
    backend = treadle.cuda.backend() if device == "cuda" else treadle.cuda.emulated_backend()
    backend.limit_blocks(request.param)
    yield request.param
    backend.limit_blocks(0)
