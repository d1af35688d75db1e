"""Every test of ops runs on the cpu device and on the numpy device."""

from collections.abc import Iterator

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The default device of the test."""
    with nd.use_device(request.param):
        yield request.param


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "eager_only(reason): what it tests is other under TREADLE_LAZY=1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not ag.is_lazy():
        return
    for item in items:
        for mark in item.iter_markers("eager_only"):
            item.add_marker(pytest.mark.skip(reason=f"eager only: {mark.args[0]}"))
