"""The networks of the board, trained on the digits: what int8 costs in accuracy, and what the command line says."""

from pathlib import Path

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
from mcu import models
from treadle import nn
from treadle.autograd.export import Adam, capture
from treadle.autograd.export.quantizing import quantized
from treadle.autograd.export.tracing import replay
from treadle.nn.export import main

POINTS = 0.5


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_int8_loses_at_most_half_a_point(name: str) -> None:
    made = models.MODELS[name]()
    program = capture(lambda x: made.function(made.weights, x), ag.Tensor(made.inputs[0]), parameters=made.weights)
    integer, report = quantized(program, [ag.Tensor(each) for each in made.inputs[-100:]])
    right = {"float32": 0, "int8": 0}
    for x, target in zip(made.inputs, made.targets, strict=True):
        for kind, each in (("float32", program), ("int8", integer)):
            (scores,) = replay(each, [nd.asarray(x)])
            right[kind] += int(np.argmax(scores.numpy())) == target
    assert right["float32"] > 0.95 * len(made.inputs)
    assert 100 * (right["float32"] - right["int8"]) / len(made.inputs) <= POINTS
    assert all(layer.decibels > 25 for layer in report.layers), str(report)


def build() -> nn.Module:
    """A network for the command."""
    nd.random.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_network.py").write_text(
        "from treadle import nn\n\n\n"
        "def build():\n    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))\n"
    )
    monkeypatch.chdir(tmp_path)
    nn.save_file(build().state_dict(), "weights.safetensors")
    np.save("rows.npy", np.random.default_rng(0).normal(size=(10, 6)).astype("float32"))
    common = ["my_network:build", "weights.safetensors", "--input", "1,6"]
    assert main([*common, "--output", "one.c", "--ram", "1"]) == 0
    assert "fits in 1,024 bytes RAM: yes" in capsys.readouterr().out
    assert main([*common, "--output", "two.c", "--quantize", "rows.npy", "--flash", "0.01"]) == 1
    printed = capsys.readouterr().out
    assert "fits in 10 bytes flash: no" in printed and "SQNR" in printed
    assert main([*common, "--output", "no/such/folder.c"]) == 1
    assert "no/such/folder.c" in capsys.readouterr().err
    assert main(["my_network:nothing", "--input", "1,6"]) == 1
    assert {"one.c", "one.h", "two.c", "two.h"} < {each.name for each in tmp_path.iterdir()}


def test_a_transformer_is_trained_by_adam() -> None:
    """The bias of attention's keys has the gradient 0 but for roundings, of which Adam makes steps of its full rate."""
    nd.random.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = ag.Tensor(nd.random.normal(0.0, 1.0, (1, 6, 16)))
    program = capture(lambda x: ag.mean(ag.abs(encoder(x) - 1.0)), x, train=Adam(1e-3))
    assert len(program.gradients) == len(list(encoder.parameters()))
