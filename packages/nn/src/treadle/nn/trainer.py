"""The training loop."""

import os
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, no_grad
from treadle.data.progress import progress
from treadle.nn.checkpoint import load_file, save_file
from treadle.nn.history import History
from treadle.nn.module import Module
from treadle.nn.plotting import VALIDATION
from treadle.nn.utils import clip_grad_norm_

__all__ = ["Trainer"]

Metric = Callable[[Tensor, Tensor], nd.NDArray]


class Trainer:
    """Trains ``model`` on batches of inputs and a target, and measures it.

    A batch is ``(*inputs, target)``; the loss is ``loss_function(model(*inputs), target)``, and so are the ``metrics``,
    by name. They must be means over the rows of the batch, from which the means over an epoch are made. ``scheduler``
    steps after each epoch; ``max_grad_norm`` clips. ``history`` has a row for each epoch.

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
        loss_function: Callable[[Any, Tensor], Tensor],
        *,
        metrics: Mapping[str, Metric] | None = None,
        scheduler: Any = None,
        max_grad_norm: float | None = None,
        show_progress: bool = True,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.loss_function = loss_function
        self.metrics = dict(metrics or {})
        self.scheduler = scheduler
        self.max_grad_norm = max_grad_norm
        self.show_progress = show_progress
        self.history = History()

    def fit(self, loader: Iterable[Any], epochs: int, validation_loader: Iterable[Any] | None = None) -> History:
        """Train for ``epochs`` more passes over ``loader``; returns the history, validation in its own columns.

        The model ends in evaluation mode.
        """
        if epochs < 0:
            raise ValueError(f"epochs must be 0 or more, not {epochs}")
        last = len(self.history) + epochs
        steps = len(loader) * epochs if isinstance(loader, Sized) else None
        with progress(total=steps, unit="step", disable=not self.show_progress) as bar:
            while len(self.history) < last:
                epoch = len(self.history) + 1
                bar.set_description(f"epoch {epoch}/{last}", refresh=False)
                row = {"epoch": epoch, **self._train_epoch(loader, bar)}
                if validation_loader is not None:
                    measured = self.evaluate(validation_loader)
                    row.update({VALIDATION + name: value for name, value in measured.items()})
                row["lr"] = self.optimizer.param_groups[0]["lr"]
                self.history.append(**row)
                bar.set_postfix({name: f"{value:.4f}" for name, value in row.items() if name not in ("epoch", "lr")})
                if self.scheduler is not None:
                    self.scheduler.step()
        self.model.eval()
        return self.history

    def _train_epoch(self, loader: Iterable[Any], bar: Any) -> dict[str, float]:
        self.model.train()
        means = _Means()
        for batch in loader:
            *inputs, target = batch
            self.optimizer.zero_grad()
            output = self.model(*inputs)
            loss = self.loss_function(output, target)
            loss.backward()
            if self.max_grad_norm is not None:
                clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
            self.optimizer.step()
            self._measure(means, loss, output, target)
            bar.update()
        return means.values()

    def evaluate(self, loader: Iterable[Any]) -> dict[str, float]:
        """Loss and metrics over ``loader``, in evaluation mode and without a graph; the mode is put back after."""
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.eval()
        means = _Means()
        try:
            with no_grad():
                for batch in loader:
                    *inputs, target = batch
                    output = self.model(*inputs)
                    self._measure(means, self.loss_function(output, target), output, target)
        finally:
            for module, training in modes:
                module.training = training
        return means.values()

    def _measure(self, means: "_Means", loss: Tensor, output: Any, target: Tensor) -> None:
        values = {"loss": loss.data}
        if self.metrics:
            with no_grad():
                values.update({name: metric(output, target) for name, metric in self.metrics.items()})
        means.add(values, target.shape[0] if target.ndim else 1)

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the model's state dict as safetensors; ``path`` is replaced at once or not at all."""
        save_file(self.model.state_dict(), path)

    def load_weights(self, path: str | os.PathLike[str]) -> None:
        """Load what :meth:`save_weights` wrote."""
        self.model.load_state_dict(load_file(path))


class _Means:
    """Means over rows, from means over batches.

    The values stay on their device and are fetched many at a time, so that no step waits for a device.
    """

    _PENDING = 256

    def __init__(self) -> None:
        self._pending: list[tuple[int, dict[str, nd.NDArray]]] = []
        self._rows = 0
        self._totals: dict[str, float] = {}

    def add(self, values: dict[str, nd.NDArray], rows: int) -> None:
        self._pending.append((rows, values))
        if len(self._pending) >= self._PENDING:
            self._fetch()

    def _fetch(self) -> None:
        for rows, values in self._pending:
            self._rows += rows
            for name, value in values.items():
                self._totals[name] = self._totals.get(name, 0.0) + rows * value.item()
        self._pending.clear()

    def values(self) -> dict[str, float]:
        self._fetch()
        return {name: total / self._rows for name, total in self._totals.items()}
