"""What a captured function may be given and may do: functions that look at elements elsewhere."""

from typing import Any

import numpy as np
import pytest

import treadle.cuda
import treadle.ndarray as nd

OPTIONS: dict[str, dict[str, Any]] = {
    "interpolate": {"size": (3, 7), "mode": "bilinear"},
    "adaptive_avg_pool2d": {"output_size": 3},
    "max_pool2d": {"kernel_size": 2, "padding": 1, "dilation": (5, 1), "return_indices": True},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_resizing_and_pooling_are_captured(device: str, name: str) -> None:
    """Whether elements are infinite, or a window lies over padding alone, is not asked of a graph."""
    autograd, functional = pytest.importorskip("treadle.autograd"), pytest.importorskip("treadle.nn").functional

    def call(x: nd.NDArray) -> nd.NDArray:
        found = getattr(functional, name)(autograd.Tensor(x), **OPTIONS[name])
        return (found[0] if type(found) is tuple else found).data  # type: ignore[no-any-return]

    images = np.random.default_rng(0).normal(size=(2, 1, 1, 4, 5)).astype(np.float32)
    captured = treadle.cuda.capture(call, nd.asarray(images[0], device=device))
    found = captured(nd.asarray(images[1], device=device)).numpy()
    np.testing.assert_allclose(found, call(nd.asarray(images[1], device="cpu")).numpy(), atol=1e-6)


def test_capture_takes_arrays(device: str) -> None:
    autograd = pytest.importorskip("treadle.autograd")
    with pytest.raises(nd.DTypeError, match=r"input 0 is a Tensor.*pass \.data"):
        treadle.cuda.capture(lambda x: x, autograd.Tensor(nd.ones(2, device=device)))
