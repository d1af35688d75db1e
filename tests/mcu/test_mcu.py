"""Exported models compiled for a Cortex-M7 and run in emulation, against Python."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from mcu import harness, models
from treadle.autograd.export import SGD, Adam, CSource, Program, Target, capture, write_c
from treadle.autograd.export.quantizing import quantized
from treadle.autograd.export.tracing import replay

SHOWN = 6
BATCH = 8


@cache
def model(name: str) -> models.Model:
    return models.MODELS[name]()


@cache
def program(name: str, integer: bool) -> Program:
    made = model(name)
    found = capture(lambda x: made.function(made.weights, x), ag.Tensor(made.inputs[0]), parameters=made.weights)
    if integer:
        found, _ = quantized(found, [ag.Tensor(each) for each in made.inputs[-100:]])
    return found


@pytest.mark.parametrize("integer", [False, True], ids=["float32", "int8"])
@pytest.mark.parametrize("name", models.MODELS)
def test_inference(name: str, integer: bool, tmp_path: Path) -> None:
    """float32 within rounding of the graph; int8 the very bits of the simulation. What was told of sizes holds."""
    written = write_c(program(name, integer), name)
    inputs = model(name).inputs[:SHOWN]
    found = harness.run(written, [(each,) for each in inputs], tmp_path)
    for given, (got,) in zip(inputs, found.outputs, strict=True):
        if integer:
            (wanted,) = replay(written.program, [nd.asarray(given)])
            assert np.array_equal(got, wanted.numpy())
        else:
            wanted = model(name).function(model(name).weights, ag.Tensor(given)).data
            assert np.allclose(got, wanted.numpy(), rtol=1e-5, atol=1e-5)
    _sizes_hold(written, found)


@pytest.mark.parametrize(("name", "integer"), [("lstm", False), ("attention", False), ("lstm", True)])
def test_functions_of_our_own(name: str, integer: bool, tmp_path: Path) -> None:
    """Linked without libm: the same results within rounding, and the bound of the code holds."""
    written = write_c(program(name, integer), name, Target(math="own"))
    inputs = model(name).inputs[:SHOWN]
    found = harness.run(written, [(each,) for each in inputs], tmp_path)
    for given, (got,) in zip(inputs, found.outputs, strict=True):
        (wanted,) = replay(written.program, [nd.asarray(given)])
        assert np.allclose(got, wanted.numpy(), rtol=1e-5, atol=1e-5)
    _sizes_hold(written, found)


@pytest.mark.parametrize(("name", "integer"), [("cnn", False), ("mlp", True)])
def test_weights_that_lie_apart_in_flash(name: str, integer: bool, tmp_path: Path) -> None:
    """Bound where the image has them; the same bits as with the weights in the C file, at the same sizes."""
    inputs = [(each,) for each in model(name).inputs[:SHOWN]]
    together = harness.run(write_c(program(name, integer), name), inputs, tmp_path / "together")
    written = write_c(program(name, integer), name, apart=True)
    assert written.weights is not None
    found = harness.run(written, inputs, tmp_path / "apart")
    for (one,), (other,) in zip(found.outputs, together.outputs, strict=True):
        assert one.tobytes() == other.tobytes()
    assert found.constants + len(written.weights) == pytest.approx(written.constant_bytes, rel=0.01, abs=32)
    assert found.code <= written.code_bytes
    assert found.memory == pytest.approx(together.memory, abs=16)


def _sizes_hold(written: CSource, found: harness.Run) -> None:
    assert found.constants == pytest.approx(written.constant_bytes, rel=0.01, abs=32)
    assert found.code <= written.code_bytes <= 8 * found.code
    assert found.memory == pytest.approx(written.arena_bytes + written.state_bytes, rel=0.01, abs=16)


@pytest.mark.parametrize("update", [SGD(0.1, momentum=0.9), Adam(5e-3)], ids=["SGD", "Adam"])
@pytest.mark.parametrize("name", models.MODELS)
def test_ten_training_steps(name: str, update: SGD | Adam, tmp_path: Path) -> None:
    """The device goes on training, and its losses and weights are Python's, step by step."""
    made = model(name)
    weights = {each: ag.Tensor(tensor.data.copy(), requires_grad=True) for each, tensor in made.weights.items()}
    batches = [
        (np.concatenate(made.inputs[at : at + BATCH]), np.asarray(made.targets[at : at + BATCH], dtype="int64"))
        for at in range(0, 10 * BATCH, BATCH)
    ]

    def loss(x: ag.Tensor, y: ag.Tensor) -> ag.Tensor:
        return ag.cross_entropy(made.function(weights, x), y)

    examples = tuple(ag.Tensor(each) for each in batches[0])
    written = write_c(capture(loss, examples, train=update, parameters=weights), f"{name}_training")
    found = harness.run(written, batches, tmp_path, states=True)
    slots = {each: update.slots(tensor) for each, tensor in weights.items()}
    for (x, y), (got,) in zip(batches, found.outputs, strict=True):
        value = loss(ag.Tensor(x), ag.Tensor(y))
        value.backward()
        assert got == pytest.approx(value.item(), rel=1e-4, abs=1e-5)
        for each, tensor in weights.items():
            assert tensor.grad is not None
            fresh, *kept = update(tensor.detach(), tensor.grad, *slots[each])
            tensor.data, slots[each], tensor.grad = fresh.data, kept, None
    for each, tensor in weights.items():
        assert np.allclose(found.states[f"{written.name}_{each}"], tensor.numpy(), rtol=1e-3, atol=1e-4)
    _sizes_hold(written, found)
