"""The devices that the kernels run on here: always the host, and a GPU where there is one."""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import treadle.cuda
from treadle.cuda import _emulated

TOOLS = Path(__file__).parents[1] / "tools"
DEVICES = ["cuda_emulated", *(["cuda"] if treadle.cuda.is_available() else [])]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "caching: needs the allocator's cache, which TREADLE_CUDA_CACHE=0 turns off")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without the cache a freed block waits for its device, so that memory and streams behave otherwise."""
    if os.environ.get("TREADLE_CUDA_CACHE") == "0":
        for item in items:
            if item.get_closest_marker("caching"):
                item.add_marker(pytest.mark.skip(reason="the allocator keeps no memory here"))


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each device in turn."""
    name: str = request.param
    return name


@pytest.fixture(params=["forward", "reversed"])
def schedule(request: pytest.FixtureRequest) -> Iterator[str]:
    """The order of the emulated threads."""
    before = _emulated.get_schedule()
    _emulated.set_schedule(request.param)
    yield request.param
    _emulated.set_schedule(before)


@pytest.fixture(params=[0, 3], ids=["any_grid", "small_grid"])
def grid(request: pytest.FixtureRequest, device: str) -> Iterator[int]:
    """The usual grid, and one of so few blocks that every kernel has to loop."""
    backend = treadle.cuda.backend() if device == "cuda" else treadle.cuda.emulated_backend()
    backend.limit_blocks(request.param)
    yield request.param
    backend.limit_blocks(0)


@pytest.fixture
def load() -> Callable[[str], ModuleType]:
    """Loads a script of ``tools/`` as a module."""

    def load_tool(name: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[name] = module
        specification.loader.exec_module(module)
        return module

    return load_tool
