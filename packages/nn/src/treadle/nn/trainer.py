"""The training loop."""

import copy
import errno
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from math import isfinite
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, no_grad
from treadle.data.progress import progress
from treadle.nn._trainer_parts import (
    check_options,
    check_parts,
    emptiness,
    has_length,
    rest_of,
    rows_of,
    share_of,
    wants_measure,
)  # fmt: skip
from treadle.nn.callbacks import Callback, Checkpoints
from treadle.nn.checkpoint import load_file, save_file
from treadle.nn.errors import NonFiniteLossError
from treadle.nn.history import History
from treadle.nn.means import Means, scalar
from treadle.nn.module import Module
from treadle.nn.plotting import VALIDATION
from treadle.nn.run_state import captured, restored
from treadle.nn.state_file import load_state, save_state
from treadle.nn.utils import clip_grad_norm_, clip_grad_value_

__all__ = ["Trainer"]


class Trainer:
    """Trains ``model`` on batches of inputs and a target, and measures it.

    A batch is ``(*inputs, target)``; the loss is ``loss_function(model(*inputs), target)``, and so are the ``metrics``,
    by name: numbers, or arrays of one. They must be means over the rows of the batch, from which the means over an
    epoch are made; a metric with ``update``, ``compute`` and ``reset`` is fed and asked at the end (and, with
    ``state_dict`` and ``load_state_dict``, resumed in mid-epoch). For batches of
    another kind a subclass overrides :meth:`loss_of`. ``history`` has a row for each epoch.

    ``scheduler`` steps after each epoch, or with ``scheduler_interval="step"`` after each update; one whose ``step``
    wants a measure gets ``monitor``. ``max_grad_norm`` and ``max_grad_value`` clip the optimizer's
    gradients. ``accumulate`` batches make one update, with the gradient of the mean over all their rows, or over what
    the loss counts of them: its ``counted`` tells, as :class:`CrossEntropyLoss` has it for targets that are ignored and
    weights of classes, and the means of the loss are weighted alike. ``ema``, an average of the weights, is updated
    after each step, and validation is done with it. ``callbacks`` act after steps and epochs, ``checkpoints`` after
    those.

    A loss that is NaN or infinite is a NonFiniteLossError before anything is changed by it; on a GPU, where no step
    waits for its loss, a few hundred steps later. An optimizer without a parameter of the model is a
    ValueError.

    >>> import treadle.nn as nn
    >>> from treadle.data import DataLoader, TensorDataset
    >>> from treadle.optim import SGD
    >>> model = nn.Linear(1, 1)
    >>> loader = DataLoader(TensorDataset(Tensor([[1.0], [2.0]]), Tensor([[2.0], [4.0]])), batch_size=2)
    >>> trainer = Trainer(model, SGD(model.parameters(), lr=0.1), nn.MSELoss(), show_progress=False)
    >>> history = trainer.fit(loader, epochs=200)
    >>> history["loss"][-1] < 1e-3
    True
    """

    def __init__(
        self,
        model: Module,
        optimizer: Any,
        loss_function: Callable[[Any, Any], Tensor],
        *,
        metrics: Mapping[str, Any] | None = None,
        scheduler: Any = None,
        scheduler_interval: str = "epoch",
        monitor: str | None = None,
        max_grad_norm: float | None = None,
        max_grad_value: float | None = None,
        accumulate: int = 1,
        ema: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoints: Checkpoints | None = None,
        show_progress: bool = True,
    ) -> None:
        metrics = {} if metrics is None else metrics
        listed = [*callbacks, checkpoints] if checkpoints is not None else callbacks
        check_parts(model, optimizer, loss_function, metrics, scheduler, ema, listed)
        limits = {"max_grad_norm": max_grad_norm, "max_grad_value": max_grad_value}
        check_options(scheduler, scheduler_interval, accumulate, limits)
        self.model = model
        self.optimizer = optimizer
        self.loss_function = loss_function
        self.metrics: dict[str, Any] = dict(metrics)
        self.scheduler = scheduler
        self.scheduler_interval = scheduler_interval
        self.monitor = monitor
        self.max_grad_norm = max_grad_norm
        self.max_grad_value = max_grad_value
        self.accumulate = accumulate
        self.ema = ema
        self.callbacks = list(callbacks)
        self.checkpoints = checkpoints
        self.show_progress = show_progress
        self.history = History()
        self.step = 0
        self.batches = 0
        self.stopped = False
        self.means: Means | None = None
        self.loaders: dict[str, Any] = {}
        self._loader_states: dict[str, Any] = {}
        self._taken_up = False
        self._is_fitting = False

    # --- what a user calls -------------------------------------------------------------------------------------------
    @property
    def epoch(self) -> int:
        """How many epochs are complete."""
        return len(self.history)

    def stop(self) -> None:
        """Have ``fit`` end after this epoch."""
        self.stopped = True

    def fit(
        self,
        loader: Iterable[Any],
        epochs: int,
        validation_loader: Iterable[Any] | None = None,
        *,
        resume: str | os.PathLike[str] | None = None,
    ) -> History:
        """Train for ``epochs`` more passes over ``loader``; returns the history, validation in its own columns.

        With ``resume``, a checkpoint or the folder of :class:`Checkpoints`, the run that it holds goes on, and
        ``epochs`` counts from that run's beginning. Where there is none yet, a run begins if that is where this
        trainer's ``checkpoints`` will lie, and otherwise it is a FileNotFoundError. A run that was killed at any time
        and is resumed in a program of the same parts ends with the bytes of one that was not. In mid-epoch it needs the
        same batches: CheckpointError or ValueError for a loader of another length or batch size.

        The model ends in evaluation mode. A callback that calls ``fit`` is a RuntimeError.
        """
        if self._is_fitting:
            raise RuntimeError("fit was called within fit; a callback can call evaluate, and stop to end the run")
        self._is_fitting = True
        try:
            return self._fit(loader, epochs, validation_loader, resume)
        finally:
            self._is_fitting = False

    def _fit(
        self,
        loader: Iterable[Any],
        epochs: int,
        validation_loader: Iterable[Any] | None,
        resume: str | os.PathLike[str] | None,
    ) -> History:
        if operator.index(epochs) < 0:
            raise ValueError(f"epochs must be 0 or more, not {epochs}")
        last = epochs if resume is not None else self.epoch + epochs
        if resume is not None:
            self._resume(Path(resume))
        elif not self._taken_up:
            self.means, self.batches, self.stopped = None, 0, False
        self._taken_up = False
        self.loaders = {"training": loader, "validation": validation_loader}
        self._restore_loaders()
        steps = len(loader) * (last - self.epoch) - self.batches if has_length(loader) else None  # type: ignore[arg-type]
        self._tell("on_fit_start")
        with progress(total=steps, unit="step", disable=not self.show_progress) as bar:
            while self.epoch < last and not self.stopped:
                bar.set_description(f"epoch {self.epoch + 1}/{last}", refresh=False)
                row = self._epoch(loader, validation_loader, bar)
                bar.set_postfix({name: f"{value:.4f}" for name, value in row.items() if name not in ("epoch", "lr")})
        self._tell("on_fit_end")
        self.model.eval()
        return self.history

    def evaluate(self, loader: Iterable[Any]) -> dict[str, float]:
        """Loss and metrics over ``loader``, in evaluation mode and without a graph; the mode is put back after.

        Within an epoch of ``fit``, as a callback may call it, copies of the metrics are fed.
        """
        metrics = self.metrics
        if self.means is not None:
            self.metrics = copy.deepcopy(metrics)
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        means = Means()
        self._reset_metrics()
        try:
            with no_grad():
                for batch in loader:
                    self._measure(means, *self.loss_of(batch))
            return self._measured(means, loader)
        finally:
            self.metrics = metrics
            for module, training in modes:
                module.training = training

    def loss_of(self, batch: Any) -> tuple[Tensor, Any, Any]:
        """Loss, output and target of a batch; the metrics get the last two, and the rows are counted by the target."""
        if not isinstance(batch, (tuple, list)) or len(batch) < 2:
            raise TypeError(
                f"a batch must be a tuple (*inputs, target), not {type(batch).__name__}"
                f"{f' of {len(batch)}' if isinstance(batch, (tuple, list)) else ''}; or override Trainer.loss_of"
            )
        *inputs, target = batch
        output = self.model(*inputs)
        return self.loss_function(output, target), output, target

    # --- an epoch ----------------------------------------------------------------------------------------------------
    def _epoch(self, loader: Iterable[Any], validation_loader: Iterable[Any] | None, bar: Any) -> dict[str, float]:
        row = {"epoch": self.epoch + 1, **self._train_epoch(loader, bar)}
        if validation_loader is not None:
            with self.ema.averaged() if hasattr(self.ema, "averaged") else nullcontext():
                measured = self.evaluate(validation_loader)
            row.update({VALIDATION + name: value for name, value in measured.items()})
        row["lr"] = self.optimizer.param_groups[0]["lr"]
        self.history.append(**row)
        if self.scheduler is not None and self.scheduler_interval == "epoch":
            self._step_scheduler(row)
        self._tell("on_epoch_end", row)
        return row

    def _step_scheduler(self, row: Mapping[str, float]) -> None:
        if not wants_measure(self.scheduler):
            self.scheduler.step()
            return
        name = self.monitor or (VALIDATION + "loss" if VALIDATION + "loss" in row else "loss")
        if name not in row:
            raise KeyError(f"the history has no {name!r} for the scheduler, only {', '.join(row)}")
        self.scheduler.step(row[name])

    def _train_epoch(self, loader: Iterable[Any], bar: Any) -> dict[str, float]:
        self.model.train()
        if self.means is None:
            self.means = Means(finite=True)
            self._reset_metrics()
        whole: Any = 0
        waiting = 0
        for batch in rest_of(loader, self.batches):
            if not waiting:
                self.optimizer.zero_grad()
            loss, output, target = self.loss_of(batch)
            self._check(loss)
            if self.accumulate == 1:
                loss.backward()
            else:
                share = share_of(self.loss_function, target)
                part: Any = float(rows_of(target)) if share is None else Tensor(share.astype(loss.dtype))
                (loss * part).backward()
                whole = whole + part
            self._measure(self.means, loss, output, target)
            waiting += 1
            self.batches += 1
            if waiting == self.accumulate:
                self._update(whole)
                whole = waiting = 0
            bar.update()
        if waiting:
            self._update(whole)
        measured = self._measured(self.means, loader)
        self.means, self.batches = None, 0
        return measured

    def _check(self, loss: Any) -> None:
        if not isinstance(loss, Tensor) or loss.size != 1:
            shape = f"shape {loss.shape}" if isinstance(loss, Tensor) else f"a {type(loss).__name__}"
            raise nd.ShapeError(f"the loss function gave {shape}; training needs one number, such as the mean")
        if loss.device.type != "cuda" and not isfinite(loss.item()):
            raise NonFiniteLossError(
                f"the loss is {loss.item()} at batch {self.batches + 1} of epoch {self.epoch + 1}, after {self.step} "
                "steps; nothing was changed by it. A lower learning rate or max_grad_norm may help; "
                "treadle.autograd.detect_anomaly() finds the op"
            )

    def _update(self, whole: Any) -> None:
        # Those of the optimizer: what else the model has keeps the gradients of all steps, which nobody clears.
        learnt = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        if self.accumulate > 1:
            factor = 1.0 / float(whole)
            for parameter in learnt:
                if parameter.grad is not None:
                    parameter.grad = parameter.grad * factor
        if self.max_grad_norm is not None:
            clip_grad_norm_(learnt, self.max_grad_norm)
        if self.max_grad_value is not None:
            clip_grad_value_(learnt, self.max_grad_value)
        self.optimizer.step()
        if self.ema is not None:
            self.ema.update()
        if self.scheduler is not None and self.scheduler_interval == "step":
            self.scheduler.step()
        self.step += 1
        self._tell("on_step_end")

    # --- measures ----------------------------------------------------------------------------------------------------
    def _measure(self, means: Means, loss: Tensor, output: Any, target: Any) -> None:
        values: dict[str, Any] = {"loss": loss.data}
        with no_grad():
            for name, metric in self.metrics.items():
                if hasattr(metric, "update"):
                    metric.update(output, target)
                else:
                    values[name] = metric(output, target)
        means.add(values, rows_of(target), share_of(self.loss_function, target))

    def _measured(self, means: Means, loader: Any) -> dict[str, float]:
        values = means.values()
        if not values:
            raise ValueError(emptiness(loader))
        for name, metric in self.metrics.items():
            if hasattr(metric, "update"):
                values[name] = scalar(f"metric {name!r}", metric.compute())
        return values

    def _reset_metrics(self) -> None:
        for metric in self.metrics.values():
            if hasattr(metric, "update"):
                metric.reset()

    # --- files -------------------------------------------------------------------------------------------------------
    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the model's state dict as safetensors; ``path`` is replaced at once or not at all."""
        save_file(self.model.state_dict(), path)

    def load_weights(self, path: str | os.PathLike[str]) -> None:
        """Load what :meth:`save_weights` wrote."""
        self.model.load_state_dict(load_file(path))

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run: weights, optimizer, schedule, position, generators; at once or not at all."""
        save_state(captured(self), path)

    def load_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Take over the run of a checkpoint; the next ``fit`` goes on from its place."""
        restored(self, load_state(path), path)

    def take_up(self, history: Any, means: Any, progress_made: Mapping[str, Any], loaders: Mapping[str, Any]) -> None:
        """Stand where a run stood; its loaders follow when ``fit`` gets them."""
        self.history = History()
        self.history.rows = [dict(row) for row in history]
        self.means = None
        if means is not None:
            self.means = Means(finite=True)
            self.means.load_state_dict(means)
        self.step, self.batches = progress_made["step"], progress_made["batches"]
        self.stopped = progress_made["stopped"]
        self._loader_states = dict(loaders)
        self._taken_up = True

    def _resume(self, path: Path) -> None:
        found = path / "last.safetensors" if path.is_dir() else path
        if found.exists():
            self.load_checkpoint(found)
            return
        own = () if self.checkpoints is None else (self.checkpoints.folder, self.checkpoints.last)
        if path.resolve() not in [place.resolve() for place in own]:
            where = f"in {self.checkpoints.folder}" if self.checkpoints is not None else "nowhere"
            reason = f"there is no run to resume, and this trainer's checkpoints lie {where}"
            raise FileNotFoundError(errno.ENOENT, reason, str(path))

    def _restore_loaders(self) -> None:
        for name, loader in self.loaders.items():
            state = self._loader_states.get(name)
            if state is not None and hasattr(loader, "load_state_dict"):
                loader.load_state_dict(state)
        self._loader_states = {}

    # --- callbacks ---------------------------------------------------------------------------------------------------
    def all_callbacks(self) -> list[Callback]:
        """The callbacks, and the checkpoints after them."""
        return [*self.callbacks, self.checkpoints] if self.checkpoints is not None else self.callbacks

    def _tell(self, event: str, *arguments: Any) -> None:
        for callback in self.all_callbacks():
            getattr(callback, event)(self, *arguments)
