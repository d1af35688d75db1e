"""What a trainer can do beside the plain loop: accumulate, clip, schedule, average, stop, log; and its errors."""

import csv
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.data import DataLoader, TensorDataset
from treadle.nn.tensorboard import EventFile
from treadle.optim import SGD, Adam
from treadle.optim.lr_scheduler import StepLR
from treadle.optim.swa_utils import AveragedModel

X = np.random.default_rng(0).normal(size=(22, 3)).astype("f8")
Y = X @ np.array([[1.0], [-2.0], [0.5]])


def loader(batch_size: int, rows: int = 22, **options: Any) -> DataLoader:
    return DataLoader(TensorDataset(Tensor(X[:rows]), Tensor(Y[:rows])), batch_size, **options)


def trainer(lr: float = 0.1, **options: Any) -> nn.Trainer:
    nd.random.manual_seed(3)
    model = nn.Linear(3, 1, dtype=nd.float64)
    return nn.Trainer(model, SGD(model.parameters(), lr=lr), nn.MSELoss(), **{"show_progress": False, **options})


def weights(run: nn.Trainer) -> np.ndarray:
    return np.concatenate([each.numpy().ravel() for each in run.model.state_dict().values()])


def test_accumulated_batches_are_one_large_one() -> None:
    """22 rows in batches of 4, five of 4 and one of 2, three to an update: updates of 12 and 10 rows."""
    small = trainer(accumulate=3)
    small.fit(loader(4), 2)
    large = trainer()
    large.fit([batch for start in (0, 12) for batch in loader_of(start)], 2)
    np.testing.assert_allclose(weights(small), weights(large), rtol=1e-12)
    assert small.step == large.step == 4


def loader_of(start: int) -> list[Any]:
    return [(Tensor(X[start : start + 12]), Tensor(Y[start : start + 12]))]


def test_gradients_are_clipped_by_value() -> None:
    run = trainer(lr=1.0, max_grad_value=0.01)
    before = weights(run)
    run.fit(loader(22), 1)
    np.testing.assert_allclose(np.abs(weights(run) - before), 0.01, rtol=1e-12)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_clipping_looks_at_what_is_learnt(accumulate: int) -> None:
    """A part that no optimizer learns keeps its gradients of all steps: they count for nothing. A loss's own do."""
    rates = []
    for learns in (True, False):
        nd.random.manual_seed(3)
        frozen, head = nn.Linear(3, 4, dtype="float64").requires_grad_(learns), nn.Linear(4, 1, dtype="float64")
        model, loss = nn.Sequential(frozen, head), WithScale()
        run = nn.Trainer(
            model, SGD([*head.parameters(), loss.scale], lr=1.0), loss, max_grad_norm=1e-3, accumulate=accumulate,
            show_progress=False,
        )  # fmt: skip
        run.fit(loader(4), 2)
        rates.append([*weights(run), loss.scale.item()])
        assert abs(loss.scale.item() - 2.0) <= run.step * 1e-3
    assert rates[0] == rates[1]


class WithScale(nn.Module):
    def __init__(self) -> None:
        self.scale = nn.Parameter(2.0, dtype="float64")

    def forward(self, output: Any, target: Any) -> Any:
        return nn.functional.mse_loss(output, target) * self.scale


@pytest.mark.parametrize("kind", [lambda y: {"name": ["a"], "y": y}, lambda y: ([1.0, 2.0], [y]), lambda y: [y, y]])
def test_rows_are_counted_in_targets_of_several_parts(kind: Any) -> None:
    def loss(output: Any, target: Any) -> Any:
        while not isinstance(target, Tensor):
            target = list(target.values())[-1] if isinstance(target, dict) else target[-1]
        return nn.functional.mse_loss(output, target)

    runs = [trainer(accumulate=3), trainer(accumulate=3)]
    runs[1].loss_function = loss
    runs[0].fit(loader(4), 2)
    runs[1].fit([(x, kind(y)) for x, y in loader(4)], 2)
    assert (runs[0].history["loss"] == runs[1].history["loss"]) and (weights(runs[0]) == weights(runs[1])).all()


def test_schedules_by_step_and_epoch() -> None:
    for interval, rate in (("epoch", 0.1 * 0.5**2), ("step", 0.1 * 0.5**6)):
        run = trainer(scheduler_interval=interval)
        run.scheduler = StepLR(run.optimizer, 1, 0.5)
        run.fit(loader(8), 2)
        assert run.optimizer.param_groups[0]["lr"] == pytest.approx(rate)


class OnPlateau:
    def __init__(self) -> None:
        self.seen: list[float] = []

    def step(self, metrics: float) -> None:
        self.seen.append(metrics)


def test_a_schedule_that_wants_a_measure_gets_it() -> None:
    run = trainer(scheduler=OnPlateau())
    history = run.fit(loader(8), 2, loader(22))
    assert run.scheduler.seen == history["validation_loss"]
    run = trainer(scheduler=OnPlateau(), monitor="loss")
    assert run.fit(loader(8), 2, loader(22))["loss"] == run.scheduler.seen
    with pytest.raises(KeyError, match="no 'accuracy' for the scheduler"):
        trainer(scheduler=OnPlateau(), monitor="accuracy").fit(loader(8), 1)


class Average:
    """An average that stands apart: zeros."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.updates = model, 0

    def update(self) -> None:
        self.updates += 1

    def averaged(self) -> Any:
        return Swapped(self.model)


class Swapped:
    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> None:
        self.saved = {name: value.data.copy() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict({name: nd.zeros_like(value) for name, value in self.saved.items()})

    def __exit__(self, *error: object) -> None:
        self.model.load_state_dict(self.saved)


def test_validation_is_done_with_the_average() -> None:
    run = trainer()
    run.ema = Average(run.model)
    history = run.fit(loader(8), 2, loader(22))
    assert run.ema.updates == 6
    assert history["validation_loss"] == pytest.approx([(Y**2).mean()] * 2)
    assert np.abs(weights(run)).max() > 0.1


class Error:
    """A metric that is fed: the largest absolute error of an epoch."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.worst = 0.0

    def update(self, output: Tensor, target: Tensor) -> None:
        self.worst = max(self.worst, np.abs(output.numpy() - target.numpy()).max())

    def compute(self) -> float:
        return self.worst


@pytest.mark.parametrize(
    "metric", [lambda o, t: 1.5, lambda o, t: np.float32(1.5), lambda o, t: nd.asarray([1.5]), lambda o, t: Tensor(1.5)]
)
def test_metrics_may_be_any_number(metric: Any) -> None:
    assert trainer(metrics={"m": metric}).fit(loader(8), 1)["m"] == [1.5]


def test_metrics_that_are_fed() -> None:
    run = trainer(metrics={"worst": Error()})
    result = run.evaluate(loader(8))
    assert result["worst"] == pytest.approx(np.abs(run.model(Tensor(X)).numpy() - Y).max())


@pytest.mark.parametrize(("metric", "kind"), [(lambda o, t: o, nd.ShapeError), (lambda o, t: "good", TypeError)])
def test_metrics_that_are_no_number(metric: Any, kind: Any) -> None:
    with pytest.raises(kind, match=r"m has shape|m must be a number"):
        trainer(metrics={"m": metric}).fit(loader(8), 1)


# --- callbacks -------------------------------------------------------------------------------------------------------
class Scripted(nn.Callback):
    """Notes what happens, and sets the weights after each epoch."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def on_fit_start(self, trainer: nn.Trainer) -> None:
        self.events.append("start")

    def on_step_end(self, trainer: nn.Trainer) -> None:
        self.events.append(f"step {trainer.step}")

    def on_epoch_end(self, trainer: nn.Trainer, row: Any) -> None:
        self.events.append(f"epoch {trainer.epoch} {row['epoch']}")

    def on_fit_end(self, trainer: nn.Trainer) -> None:
        self.events.append("end")


def test_callbacks_hear_everything_in_order() -> None:
    callback = Scripted()
    trainer(callbacks=[callback]).fit(loader(11), 2)
    expected = ["start", "step 1", "step 2", "epoch 1 1", "step 3", "step 4", "epoch 2 2", "end"]
    assert callback.events == expected


def test_early_stopping() -> None:
    """The rate is far too large, so that the first epoch is the best."""
    run = trainer(lr=0.9, callbacks=[nn.EarlyStopping(3, restore_best=True)])
    seen = []
    run.callbacks.append(Recorder(seen))
    history = run.fit(loader(22), 50, loader(22))
    assert len(history) == 4
    assert np.argmin(history["validation_loss"]) == 0
    np.testing.assert_array_equal(weights(run), seen[0])
    run.callbacks = []
    run.fit(loader(22), 1)
    assert run.epoch == 5, "a new fit goes on"


class Recorder(nn.Callback):
    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def on_epoch_end(self, trainer: nn.Trainer, row: Any) -> None:
        self.seen.append(weights(trainer).copy())


def test_a_measure_must_be_in_the_history() -> None:
    with pytest.raises(KeyError, match=r"no 'validation_accuracy' to monitor, only epoch, loss, lr"):
        trainer(callbacks=[nn.EarlyStopping(monitor="validation_accuracy")]).fit(loader(8), 1)


def test_checkpoints_keep_the_last_the_best_and_some(tmp_path: Path) -> None:
    run = trainer(lr=0.9, checkpoints=nn.Checkpoints(tmp_path, keep=2))
    run.fit(loader(22), 4)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["best.safetensors", "epoch-00003.safetensors", "epoch-00004.safetensors", "last.safetensors"]
    assert len(nn.load_state(tmp_path / "best.safetensors")["history"]) == int(np.argmin(run.history["loss"])) + 1
    assert (tmp_path / names[2]).read_bytes() == (tmp_path / "last.safetensors").read_bytes()


def test_logs_and_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    callbacks = [
        nn.CSVLogger(tmp_path / "history.csv"),
        nn.CurvePlot(tmp_path / "curves.png"),
        nn.TensorBoardLogger(tmp_path / "board"),
    ]
    history = trainer(callbacks=callbacks).fit(loader(8), 3, loader(22))
    with open(tmp_path / "history.csv", newline="") as file:
        assert [float(row["loss"]) for row in csv.DictReader(file)] == history["loss"]
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    (events,) = (tmp_path / "board").iterdir()
    found = [values for values in parsed(events.read_bytes()) if values]
    expected = [{name: np.float32(history[name][row]) for name in history.columns[1:]} for row in range(3)]
    assert [values for _, values in found] == expected
    assert [step for step, _ in found] == [1, 2, 3]


def crc32c(content: bytes) -> int:
    """Bit by bit, as the polynomial says."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_the_checksum_is_that_of_its_standard() -> None:
    """RFC 3720, B.4: 32 bytes of zeros."""
    assert crc32c(bytes(32)) == 0x8A9136AA


def parsed(content: bytes) -> list[Any]:
    """(step, scalars) of each record of an event file, its checksums compared."""
    found: list[Any] = []
    while content:
        length, check = struct.unpack_from("<QI", content)
        data, end = content[12 : 12 + length], struct.unpack_from("<I", content, 12 + length)[0]
        for part, stated in ((content[:8], check), (data, end)):
            crc = crc32c(part)
            assert stated == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        content = content[16 + length :]
        fields = dict(message(data))
        values = [dict(message(value)) for number, value in message(fields.get(5, b"")) if number == 1]
        scalars = {value[1].decode(): np.frombuffer(value[2], "<f4")[0] for value in values}
        found.append((fields[2], scalars) if scalars else None)
    return found


def message(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a protocol buffer."""
    fields: list[tuple[int, Any]] = []
    while data:
        key, data = varint(data)
        kind = key & 7
        if kind == 0:
            value, data = varint(data)
            fields.append((key >> 3, value))
            continue
        length, data = varint(data) if kind == 2 else ({1: 8, 5: 4}[kind], data)
        fields.append((key >> 3, data[:length]))
        data = data[length:]
    return fields


def varint(data: bytes) -> tuple[int, bytes]:
    value, shift = 0, 0
    for place, byte in enumerate(data):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, data[place + 1 :]
    raise ValueError


def test_large_steps_in_event_files(tmp_path: Path) -> None:
    with EventFile(tmp_path) as events:
        events.write({"x": 1.0}, step=123456789)
    (path,) = tmp_path.iterdir()
    assert parsed(path.read_bytes())[1] == (123456789, {"x": 1.0})


def test_event_files_are_read_by_tensorboard(tmp_path: Path) -> None:
    loading = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    with EventFile(tmp_path) as events:
        events.write({"loss": 0.5}, step=300)
    (path,) = tmp_path.iterdir()
    _, event = loading.EventFileLoader(str(path)).Load()
    assert (event.step, event.summary.value[0].tag) == (300, "loss")


# --- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_changes_nothing(value: float, tmp_path: Path, device: Any) -> None:
    batches = [(Tensor(X), Tensor(Y)), (Tensor(X), Tensor(Y)), (Tensor(X), Tensor(np.full_like(Y, value)))]
    run = trainer(checkpoints=nn.Checkpoints(tmp_path, every_steps=1))
    with pytest.raises(nn.NonFiniteLossError, match=r"the loss is (nan|inf) at batch 3 of epoch 1, after 2 steps"):
        run.fit(batches, 1)
    assert np.isfinite(weights(run)).all()
    saved = nn.load_state(tmp_path / "last.safetensors")
    assert saved["progress"]["step"] == 2
    assert run.evaluate(batches)["loss"] != run.evaluate(batches)["loss"] or value == float("inf")
    assert run.fit(batches[:2], 1)["epoch"] == [1], "a new fit begins its epoch anew"


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([], "data set is empty"),
        (loader(8, rows=0), "data set is empty"),
        (loader(30, drop_last=True), "fewer samples than batch_size=30, and drop_last"),
    ],
)
def test_loaders_without_batches(batches: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trainer().fit(batches, 1)
    with pytest.raises(ValueError, match=message):
        trainer().evaluate(batches)


@pytest.mark.parametrize(
    ("batch", "shown"), [({"x": 1}, "not dict"), ((Tensor(X),), "not tuple of 1"), (Tensor(X), "not Tensor")]
)
def test_batches_of_another_kind(batch: Any, shown: str) -> None:
    with pytest.raises(TypeError, match=rf"\(\*inputs, target\), {shown}; or override Trainer.loss_of"):
        trainer().fit([batch], 1)


def test_a_trainer_of_another_kind_of_batch() -> None:
    class Named(nn.Trainer):
        def loss_of(self, batch: Any) -> Any:
            output = self.model(batch["x"])
            return self.loss_function(output, batch["y"]), output, batch["y"]

    model = nn.Linear(3, 1, dtype=nd.float64)
    run = Named(model, SGD(model.parameters(), lr=0.1), nn.MSELoss(), show_progress=False)
    history = run.fit([{"x": Tensor(X), "y": Tensor(Y)}], 30)
    assert history["loss"][-1] < 0.1 * history["loss"][0]


def test_a_loss_of_another_kind() -> None:
    run = trainer()
    run.loss_function = nn.MSELoss(reduction="none")
    with pytest.raises(nd.ShapeError, match=r"gave shape \(8, 1\); training needs one number"):
        run.fit(loader(8), 1)
    run.loss_function = lambda output, target: 0.5  # type: ignore[assignment,return-value]
    with pytest.raises(nd.ShapeError, match="gave a float"):
        run.fit(loader(8), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accumulate": 0}, "accumulate must be"),
        ({"scheduler_interval": "batch"}, "'epoch' or 'step'"),
        ({"metrics": {"lr": abs, "loss": abs}}, "columns named loss, lr of its own"),
        ({"scheduler": OnPlateau(), "scheduler_interval": "step"}, "OnPlateau steps by a measure"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trainer(**options)
    with pytest.raises(TypeError, match="ema must have update"):
        trainer(ema=AveragedModel(nn.Linear(1, 1)))
    with pytest.raises(ValueError, match="patience"):
        nn.EarlyStopping(0)
    with pytest.raises(ValueError, match="mode must be"):
        nn.EarlyStopping(mode="least")
    with pytest.raises(ValueError, match="every_steps"):
        nn.Checkpoints("x", every_steps=0)


def test_an_optimizer_of_another_model_is_noticed() -> None:
    model = nn.Linear(1, 1)
    of_another = SGD(nn.Linear(1, 1).parameters(), lr=0.1)
    with pytest.raises(ValueError, match="none of the model's parameters"):
        nn.Trainer(model, of_another, nn.MSELoss())
    nn.Trainer(model.requires_grad_(False), of_another, nn.MSELoss())  # it may learn its input


def test_a_run_is_not_resumed_by_another_optimizer_or_from_nowhere(tmp_path: Path) -> None:
    trainer(checkpoints=nn.Checkpoints(tmp_path)).fit(loader(8), 1)
    other = trainer(checkpoints=nn.Checkpoints(tmp_path))
    other.optimizer = Adam(other.model.parameters())
    with pytest.raises(ValueError, match="not that of a Adam: a group lacks betas, eps"):
        other.fit(loader(8), 2, resume=tmp_path)
    state = nn.load_state(tmp_path / "last.safetensors")
    state["progress"]["batches"] = -1
    nn.save_state(state, tmp_path / "last.safetensors")
    with pytest.raises(nn.CheckpointError, match="batch -1 of an epoch"):
        trainer(checkpoints=nn.Checkpoints(tmp_path)).fit(loader(8), 2, resume=tmp_path)
