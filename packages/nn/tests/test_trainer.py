"""The training loop, its history, curves and weights."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, is_grad_enabled
from treadle.data import DataLoader, TensorDataset, progress
from treadle.nn.metrics import accuracy
from treadle.optim import SGD
from treadle.optim.lr_scheduler import StepLR


def problem(rows: int = 10) -> tuple[DataLoader, Any, Any]:
    """Rows of two features in two classes by the sign of the first."""
    x = np.random.default_rng(0).normal(size=(rows, 2)).astype("f4")
    y = (x[:, 0] > 0).astype("i8")
    return DataLoader(TensorDataset(Tensor(x), Tensor(y)), 4), x, y


def trainer(**options: Any) -> nn.Trainer:
    model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2))
    optimizer = SGD(model.parameters(), lr=0.05, momentum=0.9)
    options = {"metrics": {"accuracy": accuracy}, "show_progress": False, **options}
    return nn.Trainer(model, optimizer, nn.CrossEntropyLoss(), **options)


def test_it_learns(device: Any) -> None:
    loader, _, _ = problem(64)
    run = trainer()
    history = run.fit(loader, 30, loader)
    assert history.columns == ["epoch", "loss", "accuracy", "validation_loss", "validation_accuracy", "lr"]
    assert history["epoch"] == list(range(1, 31))
    assert history["loss"][-1] < 0.2 * history["loss"][0]
    assert run.evaluate(loader)["accuracy"] > 0.95
    assert not run.model.training


def test_measures_are_means_over_rows_and_not_over_batches() -> None:
    """10 rows in batches of 4, 4 and 2."""
    loader, x, y = problem()
    run = trainer()
    result = run.evaluate(loader)
    run.model.eval()
    logits = run.model(Tensor(x))
    assert result["accuracy"] == pytest.approx((logits.numpy().argmax(1) == y).mean())
    assert result["loss"] == pytest.approx(nn.CrossEntropyLoss()(logits, Tensor(y)).item(), rel=1e-5)


def test_evaluation_builds_no_graph_draws_nothing_and_restores_the_modes() -> None:
    loader, _, _ = problem()
    seen = []
    run = trainer()
    run.model[2].eval()
    run.model.register_forward_hook(lambda module, args, output: seen.append((is_grad_enabled(), module.training)))
    before = nd.random.default_generator.state()
    assert run.evaluate(loader) == run.evaluate(loader)
    assert nd.random.default_generator.state() == before
    assert set(seen) == {(False, False)}
    assert [module.training for module in run.model] == [True, True, False, True]


def test_every_epoch_trains_in_training_mode() -> None:
    loader, _, _ = problem(4)
    seen: list[bool] = []
    run = trainer()
    run.model.eval()
    run.model[2].register_forward_hook(lambda module, args, output: seen.append(module.training))
    run.fit(loader, 2, loader)
    assert seen == [True, False, True, False]


def test_fit_goes_on_where_it_stopped() -> None:
    loader, _, _ = problem()
    run = trainer()
    run.scheduler = StepLR(run.optimizer, step_size=2, gamma=0.1)
    run.fit(loader, 3)
    history = run.fit(loader, 2)
    assert history["epoch"] == [1, 2, 3, 4, 5]
    assert history["lr"] == pytest.approx([0.05, 0.05, 0.005, 0.005, 0.0005])
    with pytest.raises(ValueError, match="epochs"):
        run.fit(loader, -1)


def test_the_same_seed_gives_the_same_history(device: Any) -> None:
    histories = []
    for _ in range(2):
        nd.random.manual_seed(4)
        run = trainer()
        histories.append(run.fit(problem(20)[0], 3).rows)
    assert histories[0] == histories[1]


def test_gradients_are_clipped() -> None:
    loader, _, _ = problem()
    run = trainer(max_grad_norm=0.0)
    before = run.model[0].weight.numpy().copy()
    run.fit(loader, 1)
    np.testing.assert_array_equal(run.model[0].weight.numpy(), before)


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    loader, _, _ = problem()
    trainer(show_progress=True).fit(loader, 2)
    output = capsys.readouterr()
    assert output.out == ""
    assert "epoch 2/2" in output.err
    assert "6/6" in output.err
    assert "accuracy=" in output.err
    assert list(progress(range(3), disable=True)) == [0, 1, 2]


def test_weights_are_saved_and_loaded(tmp_path: Path) -> None:
    loader, x, _ = problem()
    first, second = trainer(), trainer()
    first.fit(loader, 1)
    first.save_weights(tmp_path / "weights.safetensors")
    second.load_weights(tmp_path / "weights.safetensors")
    np.testing.assert_array_equal(second.model.eval()(Tensor(x)).numpy(), first.model(Tensor(x)).numpy())


def test_history_as_csv(tmp_path: Path) -> None:
    history = nn.History()
    history.append(epoch=1, loss=0.5)
    history.append(epoch=2, loss=0.1 + 0.2, extra=1.0)
    history.save_csv(tmp_path / "history.csv")
    with open(tmp_path / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"epoch": "1", "loss": "0.5", "extra": ""},
        {"epoch": "2", "loss": "0.30000000000000004", "extra": "1.0"},
    ]
    assert len(history) == 2
    with pytest.raises(KeyError, match="no 'los', only epoch, loss, extra"):
        history["los"]


def test_history_as_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    loader, _, _ = problem()
    run = trainer()
    run.fit(loader, 2, loader)
    run.history.save_plot(tmp_path / "training.png")
    assert (tmp_path / "training.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ValueError, match="no measure"):
        nn.History().save_plot(tmp_path / "empty.png")


def test_accuracy(device: Any) -> None:
    logits = Tensor([[2.0, 1.0], [0.0, 3.0], [1.0, 0.0]])
    assert accuracy(logits, Tensor([0, 1, 1])).item() == pytest.approx(2 / 3)
    with pytest.raises(nd.ShapeError, match=r"logits \(3, 2\)"):
        accuracy(logits, Tensor([0, 1]))


def test_a_model_in_place_of_its_parts_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"not a Linear: pass its parameters\(\)"):
        SGD(nn.Linear(2, 2), 0.1)
    with pytest.raises(TypeError, match=r"not a Linear; of a model: model.state_dict\(\)"):
        nn.save_file(nn.Linear(2, 2), tmp_path / "x.safetensors")  # type: ignore[arg-type]
