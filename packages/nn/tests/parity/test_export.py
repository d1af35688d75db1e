"""Every layer at inference as C: against Python in float32, the error of both measured against float64."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library
from packages.autograd.tests.export.comparing import assert_as_good
from packages.nn.tests.parity.compare import Sample, drawn, leaves, missing, public_classes, to_treadle
from packages.nn.tests.parity.layer_samples import LAYERS

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import ExportError, Tensor, no_grad
from treadle.autograd.export import capture

FLOAT, DOUBLE = nd.dtype("float32"), nd.dtype("float64")
MORE: dict[str, list[Any]] = {
    "Residual": [(lambda: nn.Residual(nn.Linear(4, 4)), [(3, 4)])],
    "RotaryPositionalEncoding": [(lambda: nn.RotaryPositionalEncoding(8), [(2, 5, 8)])],
    "SinusoidalPositionalEncoding": [(lambda: nn.SinusoidalPositionalEncoding(8, 16), [(2, 5, 8)])],
    "Sequential": [(lambda: nn.Sequential(nn.Conv1d(4, 3, 3), nn.BatchNorm1d(3), nn.ReLU()), [(2, 4, 7)])],
    "TransformerEncoder": [
        (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2, norm=nn.LayerNorm(8)), [(5, 2, 8)])
    ],
    "TransformerDecoder": [
        (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12), 2), [(5, 2, 8), (3, 2, 8)])
    ],
}
BY_DATA = {
    "AdaptiveLogSoftmaxWithLoss": lambda sample: False,  # rows go to clusters by their targets; log_prob exports
    "EmbeddingBag": lambda sample: len(sample.inputs) == 1,  # bags of any lengths by their offsets
    "FractionalMaxPool2d": lambda sample: False,  # windows are drawn
    "FractionalMaxPool3d": lambda sample: False,
}
"""Layers whose graph depends on values: the samples with which it does not."""
WITHOUT = {"ModuleDict": "no forward", "ModuleList": "no forward", "ParameterDict": "no forward",
           "ParameterList": "no forward", "KeyValueCache": "no module"}  # fmt: skip


REFUSED = {"max_norm": "Embedding"}
"""Options with which a layer computes outside of the graph: the export says so."""


def _samples(name: str) -> list[tuple[Any, Sample]]:
    """Modules in evaluation mode, each with a sample of its call."""
    if name in MORE:
        return [(make().eval(), Sample(inputs=inputs)) for make, inputs in MORE[name]]
    kind = getattr(nn, name)
    static = [each for each in LAYERS[name] if BY_DATA.get(name, lambda sample: True)(each)]
    kept = [each for each in static if not any(_refuses(name, each, word) for word in REFUSED)]
    return [(kind(*each.arguments, **each.options).eval(), each) for each in kept]


def _refuses(name: str, sample: Sample, word: str) -> bool:
    return word in sample.options and name.startswith(REFUSED[word])


def _spread(module: nn.Module) -> None:
    """Statistics and scales that are not those of a new layer."""
    random = np.random.default_rng(0)
    for buffer in module.buffers():
        if buffer.dtype.kind == "f":
            buffer.data = nd.asarray(random.uniform(0.5, 1.5, buffer.shape).astype(buffer.dtype.name))
    for parameter in module.parameters():
        parameter.data = nd.asarray((0.5 * random.normal(size=parameter.shape)).astype(parameter.dtype.name))


def _results(module: nn.Module, sample: Sample, inputs: list[Any]) -> list[Tensor]:
    if sample.prepare is not None:
        sample.prepare(module)
    found = module(*inputs, **{name: to_treadle(value) for name, value in sample.call.items()})
    return [each for each in leaves(found) if isinstance(each, Tensor)]


def _filled(template: Any, given: Iterator[Tensor]) -> Any:
    """A nest like the template, with tensors in the places of its arrays."""
    if isinstance(template, tuple):
        return tuple(_filled(each, given) for each in template)
    return next(given) if isinstance(template, np.ndarray) else template


class Exported:
    """The samples of every layer, one program a class."""

    def __init__(self, folder: Any) -> None:
        self.library = Library(folder)
        self.faults: dict[str, Exception] = {}
        self.wanted: dict[str, list[Any]] = {}
        nd.random.manual_seed(0)
        for name in NAMES:
            samples = _samples(name)
            for module, _ in samples:
                _spread(module)
            self.wanted[name] = samples
            try:
                self.library.add(f"layer_{name}", capture(_together(samples), _arrays(samples, "float32")))
            except Exception as error:
                self.faults[name] = error


def _together(samples: list[Any]) -> Any:
    def function(*given: Tensor) -> Any:
        rest = iter(given)
        found: list[Tensor] = []
        for module, sample in samples:
            found += _results(module, sample, [_filled(each, rest) for each in drawn(sample, "float32")])
        return tuple(found)

    return function


def _arrays(samples: list[Any], dtype: str) -> list[np.ndarray]:
    return [each for _, sample in samples for each in leaves(drawn(sample, dtype)) if isinstance(each, np.ndarray)]


NAMES = [*(name for name in LAYERS if _samples(name)), *MORE]


def test_every_layer_is_here() -> None:
    assert missing(public_classes(nn.layers, nn.Module), NAMES, WITHOUT, BY_DATA) == []


@pytest.mark.parametrize("word", REFUSED)
def test_what_computes_outside_of_the_graph_is_refused(word: str) -> None:
    for name in NAMES:
        for sample in LAYERS.get(name, ()):
            if _refuses(name, sample, word):
                module = getattr(nn, name)(*sample.arguments, **sample.options).eval()
                with pytest.raises(ExportError):
                    capture(_together([(module, sample)]), _arrays([(module, sample)], "float32"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return Exported(tmp_path_factory.mktemp("layers"))


@pytest.mark.parametrize("name", NAMES)
def test_layer(exported: Exported, name: str) -> None:
    if name in exported.faults:
        raise exported.faults[name]
    samples = exported.wanted[name]
    arrays = _arrays(samples, "float32")
    got = exported.library.call(f"layer_{name}", arrays)
    with no_grad():
        python = [each.numpy() for each in _together(samples)(*[Tensor(nd.asarray(each)) for each in arrays])]
        for module, _ in samples:
            module.to(DOUBLE)
        wide = [Tensor(nd.asarray(each.astype("float64") if each.dtype.kind == "f" else each)) for each in arrays]
        exact = [each.numpy() for each in _together(samples)(*wide)]
        for module, _ in samples:
            module.to(FLOAT)
    for one, own, better in zip(got, python, exact, strict=True):
        assert_as_good(one, own, better, None, False)
