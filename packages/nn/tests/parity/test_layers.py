"""Every layer against PyTorch's of the same name: forward, gradients, one step of SGD, state dicts both ways."""

from typing import Any

import pytest
from packages.nn.tests.parity.compare import Sample, cases, compare_modules, torch

import treadle.ndarray as nd
from treadle import nn

LAYERS: dict[str, list[Sample]] = {
    "Linear": [Sample((4, 5)), Sample((4, 5), {"bias": False}, inputs=[(2, 3, 4)])],
    "ReLU": [Sample()],
    "Flatten": [Sample(inputs=[(2, 3, 4)])],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "sample"), cases(LAYERS))
def test_layer(name: str, sample: Sample, dtype: str) -> None:
    ours: Any = getattr(nn, name)(*sample.arguments, **sample.options).to(nd.dtype(dtype))
    theirs = getattr(torch.nn, sample.name or name)(*sample.arguments, **sample.options).to(getattr(torch, dtype))
    compare_modules(ours, theirs, sample, dtype)
