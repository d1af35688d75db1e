"""Every test of ops runs on the cpu device and on the numpy device."""

from collections.abc import Iterator

import pytest

import treadle.ndarray as nd


@pytest.fixture(params=["cpu", "numpy"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The default device of the test."""
    with nd.use_device(request.param):
        yield request.param
