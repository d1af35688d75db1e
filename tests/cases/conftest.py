"""What the cases of layers and of training share."""

from collections.abc import Iterator

import pytest

import treadle.ndarray as nd


@pytest.fixture
def on_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """The device that a test names as the default one."""
    name = request.getfixturevalue("device") if "device" in request.fixturenames else "cpu"
    with nd.use_device(name):
        yield
