"""What acts at the steps and epochs of a training run: early stopping, checkpoints, logs, pictures.

Each names the measure it watches as the history does: ``loss``, ``validation_loss``, ``validation_accuracy``, ...
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.ndarray.atomic import remove_leftovers

if TYPE_CHECKING:
    from treadle.nn.trainer import Trainer

__all__ = ["CSVLogger", "Callback", "Checkpoints", "CurvePlot", "EarlyStopping"]


class Callback:
    """The base: every method does nothing. What an interrupted run must remember stands in ``state_dict``.

    >>> class Printing(Callback):
    ...     def on_epoch_end(self, trainer, row):
    ...         print(row["epoch"])
    """

    def on_fit_start(self, trainer: "Trainer") -> None:
        """Before the first step of ``fit``."""

    def on_step_end(self, trainer: "Trainer") -> None:
        """After each update of the weights."""

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        """After each epoch and its validation; ``row`` is the new one of the history."""

    def on_fit_end(self, trainer: "Trainer") -> None:
        """After the last epoch of ``fit``; not after an error."""

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`load_state_dict` needs to go on."""
        return {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from ``state_dict``."""


class _Best:
    """The best value of a measure so far."""

    def __init__(self, monitor: str | None, mode: str, min_delta: float = 0.0) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        if min_delta < 0.0:
            raise ValueError(f"min_delta must be 0 or more, not {min_delta}")
        self.monitor, self.sign, self.min_delta = monitor, 1.0 if mode == "min" else -1.0, min_delta
        self.value = inf

    def improved(self, row: Mapping[str, float]) -> bool:
        """Whether ``row`` is better than all before, by more than ``min_delta``; then it is the best."""
        name = self.monitor or ("validation_loss" if "validation_loss" in row else "loss")
        if name not in row:
            raise KeyError(f"the history has no {name!r} to monitor, only {', '.join(row)}")
        value = self.sign * row[name]
        if isnan(value) or value >= self.value - self.min_delta:
            return False
        self.value = value
        return True


class EarlyStopping(Callback):
    """Ends ``fit`` when ``monitor`` has not improved by more than ``min_delta`` for ``patience`` epochs.

    Without ``monitor`` it is the validation loss, or the loss. With ``restore_best`` the model ends with the weights of
    its best epoch.

    L. Prechelt, "Early stopping - but when?", 1998, criterion UP in its simplest form.

    >>> EarlyStopping(patience=3, monitor="validation_accuracy", mode="max").patience
    3
    """

    def __init__(
        self,
        patience: int = 5,
        monitor: str | None = None,
        mode: str = "min",
        min_delta: float = 0.0,
        restore_best: bool = False,
    ) -> None:
        if patience < 1:
            raise ValueError(f"patience must be 1 or more epochs, not {patience}")
        self.patience = patience
        self.restore_best = restore_best
        self.waited = 0
        self._best = _Best(monitor, mode, min_delta)
        self._weights: dict[str, Any] | None = None

    def on_fit_start(self, trainer: "Trainer") -> None:
        if self.waited >= self.patience and not trainer.stopped:  # it ended an earlier fit, and this is another
            self.waited = 0

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        if self._best.improved(row):
            self.waited = 0
            if self.restore_best:
                self._weights = {name: value.data.copy() for name, value in trainer.model.state_dict().items()}
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.stop()

    def on_fit_end(self, trainer: "Trainer") -> None:
        if self._weights is not None:
            trainer.model.load_state_dict(self._weights)

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best.value, "waited": self.waited, "weights": self._weights}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._best.value, self.waited = state_dict["best"], state_dict["waited"]
        self._weights = state_dict["weights"]


class Checkpoints(Callback):
    """Writes whole training runs into a folder, each file at once or not at all, for ``Trainer.fit(resume=folder)``.

    ``last.safetensors`` after every ``every_epochs`` epochs and every ``every_steps`` steps; ``best.safetensors`` after
    each epoch in which ``monitor`` was better than ever; the last ``keep`` epochs under their numbers too.

    >>> Checkpoints("runs/digits", every_steps=100, keep=2).last.name
    'last.safetensors'
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        every_epochs: int = 1,
        every_steps: int | None = None,
        monitor: str | None = None,
        mode: str = "min",
        keep: int = 0,
    ) -> None:
        if every_epochs < 1 or (every_steps is not None and every_steps < 1) or keep < 0:
            raise ValueError("every_epochs and every_steps must be 1 or more, keep 0 or more")
        self.folder = Path(folder)
        self.every_epochs, self.every_steps, self.keep = every_epochs, every_steps, keep
        self._best = _Best(monitor, mode)

    @property
    def last(self) -> Path:
        """The file that is written most often."""
        return self.folder / "last.safetensors"

    @property
    def best(self) -> Path:
        """The file of the best epoch."""
        return self.folder / "best.safetensors"

    def on_fit_start(self, trainer: "Trainer") -> None:
        remove_leftovers(self.folder, ".safetensors")

    def on_step_end(self, trainer: "Trainer") -> None:
        if self.every_steps is not None and trainer.step % self.every_steps == 0:
            trainer.save_checkpoint(self.last)

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        epoch = trainer.epoch
        if self._best.improved(row):  # before `last`, which tells that it is there
            trainer.save_checkpoint(self.best)
        if epoch % self.every_epochs == 0:
            if self.keep:
                trainer.save_checkpoint(self._numbered(epoch))
                with suppress(FileNotFoundError):
                    self._numbered(epoch - self.keep * self.every_epochs).unlink()
            trainer.save_checkpoint(self.last)

    def _numbered(self, epoch: int) -> Path:
        return self.folder / f"epoch-{epoch:05d}.safetensors"

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best.value}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self._best.value = state_dict["best"]


class CSVLogger(Callback):
    """Writes the history as CSV after each epoch, so that a run can be watched.

    >>> CSVLogger("runs/digits/history.csv").path.name
    'history.csv'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        trainer.history.save_csv(self.path)


class CurvePlot(Callback):
    """Draws the curves of the history as a PNG after each epoch; needs the extra ``treadle-nn[plot]``.

    >>> CurvePlot("runs/digits/training.png").path.name
    'training.png'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def on_fit_start(self, trainer: "Trainer") -> None:
        from treadle.nn.plotting import require_matplotlib

        require_matplotlib()  # rather now than after an epoch

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        trainer.history.save_plot(self.path)
