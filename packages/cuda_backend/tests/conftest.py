"""The devices that the kernels run on here: always the host, and a GPU where there is one."""

import ctypes
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import treadle.cuda
import treadle.ndarray as nd
from treadle.cuda import _emulated

PACKAGE = Path(__file__).parents[1] / "src" / "treadle" / "cuda"
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


@pytest.fixture(scope="session")
def build_kernels(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ctypes.CDLL]:
    """Compiles a file of this folder and the emulation it runs in; warnings are errors."""

    def build(source: str, *more: str) -> ctypes.CDLL:
        target = tmp_path_factory.mktemp("kernels") / "kernels.so"
        compiler = shlex.split(os.environ.get("CXX") or (sysconfig.get_config_var("CXX") or "g++").split()[0])
        includes = [f"-I{path}" for path in (PACKAGE / "emulation", PACKAGE / "kernels", nd.get_include())]
        options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror"]
        sources = [str(Path(__file__).parent / source), *map(str, sorted((PACKAGE / "emulation").glob("*.cpp")))]
        subprocess.run([*compiler, *options, *more, *includes, "-x", "c++", *sources, "-o", str(target)], check=True)
        loaded = ctypes.CDLL(str(target))
        loaded.last_failure.restype = loaded.error_name.restype = ctypes.c_char_p
        return loaded

    return build


@pytest.fixture(params=[0, 1], ids=["forward", "reversed"])
def kernels(request: pytest.FixtureRequest, library: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    """The module's library, with the threads of a block in either order."""
    library.set_reversed(request.param)
    yield library
    library.set_reversed(0)
