"""The networks of the board, trained on the digits: what int8 costs in accuracy, and what the command line says."""

from pathlib import Path

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library, by_name

import treadle.autograd as ag
import treadle.ndarray as nd
from mcu import models
from treadle import nn, optim
from treadle.autograd import ExportError
from treadle.autograd.export import SGD, Adam, capture
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
    np.save("rows.npy", np.random.default_rng(0).normal(size=(10, 6)))  # in float64, as NumPy draws
    common = ["my_network:build", "weights.safetensors", "--input", "1,6"]
    assert main([*common, "--output", "one.c", "--ram", "1"]) == 0
    assert "fits in 1,024 bytes RAM: yes" in capsys.readouterr().out
    assert main([*common, "--output", "two.c", "--quantize", "rows.npy", "--flash", "0.01"]) == 1
    printed = capsys.readouterr().out
    assert "fits in 10 bytes flash: no" in printed and "SQNR" in printed
    assert main([*common, "--output", "three.c", "--binary", "three.bin", "--math", "own"]) == 0
    assert "math.h" in (tmp_path / "one.c").read_text() and "math.h" not in (tmp_path / "three.c").read_text()
    assert (tmp_path / "three.bin").read_bytes().startswith(b"treadle")
    assert main([*common, "--output", "no/such/folder.c"]) == 1
    assert "no/such/folder.c" in capsys.readouterr().err
    assert main(["my_network:nothing", "--input", "1,6"]) == 1
    assert {"one.c", "one.h", "two.c", "two.h"} < {each.name for each in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("model", "shape", "said"),
    [
        ("my_network.py:build", "1,4", "name the module as import does: my_network:build"),
        ("treadle.nn:ReLU", "1x4", "--input is '1x4'; give the lengths of the axes with commas"),
    ],
)
def test_what_is_mistyped_is_said_back(model: str, shape: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([model, "--input", shape]) == 1
    assert said in capsys.readouterr().err


def test_a_class_that_needs_arguments_is_no_network(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["treadle.nn:Linear", "--input", "1,4", "--output", str(tmp_path / "model.c")]) == 1
    assert "treadle.nn:Linear cannot be called without arguments" in capsys.readouterr().err


def test_a_transformer_is_trained_by_adam() -> None:
    """The bias of attention's keys has the gradient 0 but for roundings, of which Adam makes steps of its full rate."""
    nd.random.manual_seed(0)
    encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = ag.Tensor(nd.random.normal(0.0, 1.0, (1, 6, 16)))
    program = capture(lambda x: ag.mean(ag.abs(encoder(x) - 1.0)), x, train=Adam(1e-3))
    assert len(program.gradients) == len(list(encoder.parameters()))


@pytest.mark.parametrize("name", ["BatchNorm1d", "InstanceNorm1d"])
def test_running_statistics_are_learned_on_the_device(name: str, tmp_path: Path) -> None:
    """Steps in C on different batches, against the same steps in Python; the export itself changes nothing."""
    nd.random.manual_seed(0)
    norm = getattr(nn, name)(4, affine=True, track_running_stats=True)
    model = nn.Sequential(nn.Conv1d(2, 4, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(20, 3))
    criterion, random = nn.CrossEntropyLoss(), np.random.default_rng(0)
    batches = [
        (random.normal(at, 1.0, (6, 2, 7)).astype("float32"), random.integers(0, 3, 6).astype("int64"))
        for at in range(4)
    ]
    before = {key: value.numpy().copy() for key, value in model.state_dict().items()}
    names = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for each, tensor in names.items():
        tensor.name = each
    library = Library(tmp_path)
    program = capture(
        lambda x, y: criterion(model(x), y), [ag.Tensor(each) for each in batches[0]], train=SGD(0.1),
        parameters=dict(model.named_parameters()),
    )  # fmt: skip
    library.add("steps", program)
    assert {key: value.numpy().tolist() for key, value in model.state_dict().items()} == {
        key: value.tolist() for key, value in before.items()
    }
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        (loss,) = library.call("steps", [x, y])
        optimizer.zero_grad()
        expected = criterion(model(ag.Tensor(x)), ag.Tensor(y))
        expected.backward()
        optimizer.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
    found = by_name(library.states("steps"), "steps")
    wanted = {each.replace(".", "_"): tensor.numpy() for each, tensor in names.items()}
    untouched = {"1_num_batches_tracked"} if name == "InstanceNorm1d" else set()
    assert set(found) == set(wanted) - untouched
    for each, value in found.items():
        np.testing.assert_allclose(value, wanted[each], rtol=1e-4, atol=1e-5, err_msg=each)


def test_a_mean_of_all_batches_is_refused() -> None:
    norm = nn.BatchNorm1d(3, momentum=None)
    with pytest.raises(ExportError, match="count of batches"):
        capture(lambda x: ag.mean(ag.square(norm(x) - 1.0)), ag.Tensor(np.eye(3, dtype="float32")), train=SGD(0.1))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["../nets:build", "--input", "1,6"], "no name of a module"),
        ([":build", "--input", "1,6"], "no name of a module"),
        (["treadle.nn:Identity", "--input", "99999999999999,6"], "MemoryError"),
        (["treadle.nn:Identity", "--input", "1,6", "--quantize", "one.npy"], "holds one number"),
    ],
)
def test_what_the_command_cannot_do_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("one.npy", np.float32(3))
    assert main(arguments) == 1
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert not list(tmp_path.glob("*.c"))


@pytest.mark.parametrize("size", ["-1", "nan", "inf", "much"])
def test_sizes_that_are_none(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["treadle.nn:Identity", "--input", "1,6", f"--ram={size}"])
    assert "is no size in KiB" in capsys.readouterr().err
