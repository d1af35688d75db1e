"""Training that goes wrong: parts of another kind, runs resumed with other data, callbacks that fail or interfere."""

import math
import signal
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor
from treadle.data import DataLoader, IterableDataset, TensorDataset
from treadle.nn.metrics import ROCAUC, Accuracy, ConfusionMatrix, Metric, Perplexity
from treadle.nn.tensorboard import EventFile
from treadle.optim.lr_scheduler import StepLR

X = np.random.default_rng(0).normal(size=(20, 3)).astype("f4")
Y = (X[:, 0] > 0).astype("i8")


def loader(batch_size: int = 4, rows: int = 20, **options: Any) -> DataLoader:
    return DataLoader(TensorDataset(Tensor(X[:rows]), Tensor(Y[:rows])), batch_size, **options)


def trainer(**options: Any) -> nn.Trainer:
    model = nn.Linear(3, 2)
    return nn.Trainer(model, optim.SGD(model.parameters(), 0.1), nn.CrossEntropyLoss(), show_progress=False, **options)


class StopAt(nn.Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, trainer: nn.Trainer) -> None:
        if trainer.step == self.step:
            raise KeyboardInterrupt


def interrupted(folder: Path, batches: Any, step: int = 3) -> None:
    run = trainer(callbacks=[StopAt(step)], checkpoints=nn.Checkpoints(folder, every_steps=1))
    with pytest.raises(KeyboardInterrupt):
        run.fit(batches, 1)


def resumed(folder: Path, batches: Any) -> nn.History:
    run = trainer(callbacks=[StopAt(-1)], checkpoints=nn.Checkpoints(folder, every_steps=1))
    return run.fit(batches, 1, resume=folder)


# --- parts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": [abs]}, TypeError, "dict of functions or Metrics by name, not a list"),
        ({"metrics": {"hits": Accuracy}}, TypeError, "metric 'hits' must be .* the class Accuracy: call it"),
        ({"callbacks": [nn.EarlyStopping]}, TypeError, "the class EarlyStopping: call it"),
        ({"checkpoints": "folder"}, TypeError, "must be Callbacks, not a str"),
        ({"max_grad_norm": -1.0}, ValueError, "max_grad_norm must be 0 or more"),
        ({"max_grad_value": math.nan}, ValueError, "max_grad_value must be 0 or more"),
        ({"accumulate": 2.0}, TypeError, "integer"),
        ({"scheduler": StepLR(optim.SGD([Tensor([1.0])], 0.1), 1)}, ValueError, "that of another optimizer"),
    ],
)
def test_options_of_another_kind(options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        trainer(**options)


def test_parts_of_another_kind() -> None:
    model = nn.Linear(3, 2)
    optimizer = optim.SGD(model.parameters(), 0.1)
    with pytest.raises(TypeError, match="must be a Module, not a function"):
        nn.Trainer(loader, optimizer, nn.CrossEntropyLoss())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the class SGD: call it"):
        nn.Trainer(model, optim.SGD, nn.CrossEntropyLoss())
    with pytest.raises(TypeError, match="the class CrossEntropyLoss: call it"):
        nn.Trainer(model, optimizer, nn.CrossEntropyLoss)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_norm must be 0 or more"):
        weight = nn.Parameter([1.0])
        weight.grad = Tensor([1.0])
        nn.utils.clip_grad_norm_([weight], -1.0)


# --- callbacks -------------------------------------------------------------------------------------------------------
class Failing(nn.Callback):
    def __init__(self, event: str) -> None:
        def fail(*arguments: Any) -> None:
            raise ZeroDivisionError(event)

        setattr(self, event, fail)


@pytest.mark.parametrize("event", ["on_fit_start", "on_step_end", "on_epoch_end", "on_fit_end"])
def test_a_callback_that_fails_leaves_a_trainer_that_works(event: str) -> None:
    run = trainer(callbacks=[Failing(event)])
    with pytest.raises(ZeroDivisionError, match=event):
        run.fit(loader(), 1)
    run.callbacks = []
    done = run.epoch
    assert run.fit(loader(), 2)["epoch"] == list(range(1, done + 3))


def test_fit_within_fit_is_refused() -> None:
    class Again(nn.Callback):
        def on_epoch_end(self, trainer: nn.Trainer, row: Any) -> None:
            trainer.fit(loader(), 1)

    run = trainer(callbacks=[Again()])
    with pytest.raises(RuntimeError, match="fit was called within fit"):
        run.fit(loader(), 1)
    run.callbacks = []
    run.fit(loader(), 1)


def test_an_evaluation_within_an_epoch_leaves_its_measures_alone() -> None:
    class Watching(nn.Callback):
        def on_step_end(self, trainer: nn.Trainer) -> None:
            assert trainer.evaluate(loader())["hits"] <= 1.0
            assert trainer.model.training

    histories = []
    for callbacks in ([], [Watching()]):
        nd.random.manual_seed(0)
        histories.append(trainer(callbacks=callbacks, metrics={"hits": Accuracy()}).fit(loader(), 2).rows)
    assert histories[0] == histories[1]


def test_a_run_that_was_stopped_early_can_go_on() -> None:
    run = trainer(callbacks=[nn.EarlyStopping(2, min_delta=100.0)])
    assert run.fit(loader(), 9)["epoch"] == [1, 2, 3]
    assert run.fit(loader(), 9)["epoch"] == [1, 2, 3, 4, 5]


# --- resuming --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["", "typo", "typo/last.safetensors"])
def test_a_run_is_not_begun_anew_for_a_wrong_name(tmp_path: Path, monkeypatch: Any, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for run in (trainer(), trainer(checkpoints=nn.Checkpoints("right"))):
        with pytest.raises(FileNotFoundError, match="no run to resume"):
            run.fit(loader(), 1, resume=place)
    for same in ("right", "right/last.safetensors", tmp_path / "right"):
        assert trainer(checkpoints=nn.Checkpoints("right")).fit(loader(), 1, resume=same)["epoch"] == [1]


@pytest.mark.parametrize("other", [{"batch_size": 2}, {"batch_size": 20}, {"rows": 12}])
def test_a_run_in_mid_epoch_goes_on_with_the_same_batches_only(tmp_path: Path, other: dict[str, int]) -> None:
    interrupted(tmp_path, loader(shuffle=True))
    with pytest.raises(ValueError, match="midst of a pass of 5 batches of size 4"):
        resumed(tmp_path, loader(shuffle=True, **other))
    assert resumed(tmp_path, loader(shuffle=True))["epoch"] == [1]


def test_the_next_epoch_may_have_other_batches(tmp_path: Path) -> None:
    trainer(checkpoints=nn.Checkpoints(tmp_path)).fit(loader(), 1)
    run = trainer(checkpoints=nn.Checkpoints(tmp_path))
    assert run.fit(loader(7), 2, resume=tmp_path)["epoch"] == [1, 2]


class Rows(IterableDataset):
    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Any:
        return iter(zip(X[: self.count], Y[: self.count], strict=True))


def test_loaders_that_end_before_the_place_of_a_run(tmp_path: Path) -> None:
    batches = [(Tensor(X), Tensor(Y))] * 5
    interrupted(tmp_path, batches, step=4)
    for short in (batches[:2], iter(batches[:2])):
        with pytest.raises(nn.CheckpointError, match="stood after 3 batches of an epoch, and this loader"):
            resumed(tmp_path, short)
    state = nn.load_state(tmp_path / "last.safetensors")
    state["progress"]["batches"] = 10**9
    nn.save_state(state, tmp_path / "last.safetensors")
    with pytest.raises(nn.CheckpointError, match="stood after 1000000000 batches of an epoch, and this loader has 5"):
        resumed(tmp_path, batches)


@pytest.mark.parametrize("workers", [0, 2])
def test_iterated_data_trains_and_resumes(tmp_path: Path, workers: int) -> None:
    options: dict[str, Any] = {"multiprocessing_context": "fork"} if workers else {}

    def batches(count: int) -> DataLoader:
        return DataLoader(Rows(count), 4, num_workers=workers, **options)

    interrupted(tmp_path, batches(10), step=2)
    assert resumed(tmp_path, batches(10))["epoch"] == [1]
    with pytest.raises(ValueError, match="has no batches"):
        trainer().fit(batches(0), 1)


METRICS: list[Metric] = [Accuracy(), ConfusionMatrix(2), Perplexity(), ROCAUC()]


def test_metrics_that_are_fed_go_on_in_mid_epoch(tmp_path: Path) -> None:
    def run(folder: Path, *callbacks: nn.Callback) -> nn.Trainer:
        nd.random.manual_seed(5)
        metrics = {"hits": Accuracy(), "perplexity": Perplexity()}
        return trainer(metrics=metrics, callbacks=callbacks, checkpoints=nn.Checkpoints(folder, every_steps=1))

    whole = run(tmp_path / "whole", StopAt(-1)).fit(loader(), 2).rows
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", StopAt(3)).fit(loader(), 2)
    assert run(tmp_path / "cut", StopAt(-1)).fit(loader(), 2, resume=tmp_path / "cut").rows == whole


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
def test_states_of_metrics(metric: Metric, tmp_path: Path) -> None:
    output, target = Tensor(X[:, :2]), Tensor(Y)
    scores = output[:, 0] if isinstance(metric, ROCAUC) else output
    metric.update(scores, target)
    nn.save_state(metric.state_dict(), tmp_path / "state")
    expected = metric.compute().tolist()
    metric.reset()
    metric.load_state_dict(nn.load_state(tmp_path / "state"))
    assert metric.compute().tolist() == expected
    with pytest.raises(ValueError, match=f"state of a {type(metric).__name__} has"):
        metric.load_state_dict({"other": 1})


# --- states of optimizers --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("saved", "other", "message"),
    [
        ("Adam", "Adamax", "state of parameter 0 has exp_avg_sq and lacks exp_inf"),
        ("Adamax", "Adam", "state of parameter 0 has exp_inf and lacks exp_avg_sq"),
        ("Adam", "Lion", "state of parameter 0 has exp_avg_sq"),
        ("NAdam", "Adam", "state of parameter 0 has mu_product"),
    ],
)
def test_the_state_of_another_optimizer_is_refused(saved: str, other: str, message: str) -> None:
    weight = nn.Parameter([1.0, 2.0])
    optimizers: dict[str, Any] = {name: getattr(optim, name)([weight], lr=0.1) for name in (saved, other)}
    weight.grad = Tensor([0.5, 0.5])
    optimizers[saved].step()
    state = optimizers[saved].state_dict()
    with pytest.raises(ValueError, match=f"not that of a {other}: the {message}"):
        optimizers[other].load_state_dict(state)
    optimizers[other].load_state_dict({**state, "state": {}})
    optimizers[other].step()


def test_options_may_change_before_a_state_is_loaded() -> None:
    weight = nn.Parameter([1.0, 2.0])
    weight.grad = Tensor([0.5, 0.5])
    for name, options in {"Adam": {"amsgrad": True}, "RMSprop": {"centered": True, "momentum": 0.5}}.items():
        optimizer = getattr(optim, name)([weight])
        optimizer.step()
        optimizer.param_groups[0].update(options)
        twin = getattr(optim, name)([weight])
        twin.load_state_dict(optimizer.state_dict())
        twin.step()
        optimizer.load_state_dict({**twin.state_dict(), "param_groups": optimizer.state_dict()["param_groups"]})


# --- batches without rows --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_batch_norm_of_no_rows_gives_none_and_learns_nothing(axes: int) -> None:
    layer = getattr(nn, f"BatchNorm{axes}d")(3)
    x = Tensor(np.zeros((0, 3, *(2,) * (axes if axes > 1 else 0)), "f4"), requires_grad=True)
    out = layer(x)
    assert out.shape == x.shape
    out.sum().backward()
    assert layer.weight.grad.tolist() == layer.bias.grad.tolist() == [0.0] * 3
    assert layer.running_mean.tolist() == [0.0] * 3
    assert layer.running_var.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (nn.LSTM(3, 2), (4, 0, 3), (4, 0, 2)),
        (nn.GRU(3, 2), (4, 0, 3), (4, 0, 2)),
        (nn.AdaptiveMaxPool2d(2), (0, 3, 4, 4), (0, 3, 2, 2)),
    ],
)
def test_layers_of_no_rows(layer: Any, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    x = Tensor(np.zeros(shape, "f4"), requires_grad=True)
    out = layer(x)
    out = out[0] if isinstance(out, tuple) else out
    assert out.shape == expected
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == shape


# --- files -----------------------------------------------------------------------------------------------------------
def test_numbers_that_event_files_cannot_hold(tmp_path: Path) -> None:
    with EventFile(tmp_path) as events:
        events.write({"large": -1e300}, step=0)
        with pytest.raises(ValueError, match="step must be 0 or more"):
            events.write({"x": 1.0}, step=-1)
    (path,) = tmp_path.iterdir()
    assert np.float32(-np.inf).tobytes() in path.read_bytes()


def test_an_interrupt_at_any_time_can_be_resumed(tmp_path: Path) -> None:
    """With a signal, so that it comes within any line."""

    def build(folder: Path) -> nn.Trainer:
        nd.random.manual_seed(3)
        model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.Linear(4, 2))
        return nn.Trainer(
            model, optim.Adam(model.parameters(), 0.01), nn.CrossEntropyLoss(), show_progress=False,
            metrics={"hits": Accuracy()}, ema=optim.ExponentialMovingAverage(model.parameters()),
            checkpoints=nn.Checkpoints(folder, every_steps=1),
        )  # fmt: skip

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    begun = time.perf_counter()
    build(tmp_path / "whole").fit(loader(shuffle=True), 2, loader())
    taken = time.perf_counter() - begun
    expected = (tmp_path / "whole" / "last.safetensors").read_bytes()
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(1, 13):
            folder = tmp_path / str(number)
            run = build(folder)
            try:
                signal.setitimer(signal.ITIMER_REAL, taken * number / 14)
                run.fit(loader(shuffle=True), 2, loader())
            except KeyboardInterrupt:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            assert not list(folder.glob(".*"))
            build(folder).fit(loader(shuffle=True), 2, loader(), resume=folder)
            assert (folder / "last.safetensors").read_bytes() == expected
    finally:
        signal.signal(signal.SIGALRM, handler)


def test_event_files_tell_the_time(tmp_path: Path) -> None:
    """Field 1 of an event, a double: seconds since 1970."""
    begun = time.time()
    with EventFile(tmp_path) as events:
        events.write({"x": 1.0}, step=1)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack_from("<Q", content)
        kind, told = struct.unpack_from("<Bd", content, 12)
        assert kind == 1 << 3 | 1
        assert begun <= told <= time.time()
        content = content[16 + length :]


def test_a_metric_of_several_numbers_is_named() -> None:
    with pytest.raises(nd.ShapeError, match=r"metric 'confusion' has shape \(2, 2\); it must be one number"):
        trainer(metrics={"confusion": ConfusionMatrix(2)}).fit(loader(), 1)


COUNTED: list[Any] = [{}, {"weight": Tensor([1.0, 2.0, 0.5, 3.0], dtype="float64")}]


@pytest.mark.parametrize("options", COUNTED)
@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss])
def test_accumulated_batches_count_what_their_loss_counts(kind: Any, options: Any) -> None:
    """huggingface/transformers#34191, #35203: (a / m + b / n) is not (a + b) / (m + n), where m and n are the targets
    that are not ignored, or the weights of their classes."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 3)), rng.integers(0, 4, 12)
    y[[1, 2, 3, 6]] = -100

    def run(parts: list[slice], accumulate: int) -> tuple[Any, list[float]]:
        nd.random.manual_seed(1)
        model: Any = nn.Sequential(nn.Linear(3, 4, dtype="float64"), nn.LogSoftmax(dim=1))
        trainer = nn.Trainer(
            model, optim.SGD(model.parameters(), lr=0.5), kind(**options), accumulate=accumulate, show_progress=False
        )
        batches = [(Tensor(x[rows]), Tensor(y[rows])) for rows in parts]
        history = trainer.fit(batches, 2, batches)
        return model[0].weight.numpy(), [*history["loss"], *history["validation_loss"]]

    parts = [slice(0, 4), slice(4, 5), slice(5, 12)]
    whole, apart = run([slice(0, 12)], 1), run(parts, 3)
    np.testing.assert_allclose(apart[0], whole[0], rtol=1e-12)
    np.testing.assert_allclose(apart[1], whole[1], rtol=1e-12)
    np.testing.assert_allclose(run(parts, 5)[0], whole[0], rtol=1e-12)


def test_a_batch_of_ignored_targets_measures_nothing() -> None:
    model = nn.Linear(2, 2)
    trainer = nn.Trainer(model, optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss(), show_progress=False)
    counted, ignored = ((Tensor([[1.0, 2.0]]), Tensor([target])) for target in (1, -100))
    assert trainer.evaluate([counted, ignored]) == trainer.evaluate([counted])
    assert np.isnan(trainer.evaluate([ignored])["loss"])
