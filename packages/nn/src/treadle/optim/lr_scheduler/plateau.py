"""A schedule that waits for a metric to stand still."""

from collections.abc import Sequence
from math import inf
from typing import Any

from treadle.optim.lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from treadle.optim.optimizer import Optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by ``factor`` once a metric has not improved for more than ``patience`` epochs.

    An improvement is a value below (``mode`` "min") or above ("max") the best by more than ``threshold``, as a share of
    its magnitude (``threshold_mode`` "rel") or as such ("abs"). After a reduction, ``cooldown`` epochs pass before bad
    ones count again. A rate does not fall below ``min_lr``, and a change below ``eps`` is not made.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = ReduceLROnPlateau(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), factor=0.5, patience=1)
    >>> rates = []
    >>> for loss in [3.0, 2.0, 2.0, 2.0, 1.0]:
    ...     schedule.step(loss)
    ...     rates += schedule.get_last_lr()
    >>> rates
    [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if not factor < 1.0:
            raise ValueError(f"factor must be below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode must be 'min' or 'max', not {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode must be 'rel' or 'abs', not {threshold_mode!r}")
        self.optimizer = check_optimizer(optimizer)
        self.min_lrs = for_each_group("min_lr", min_lr, optimizer)
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self.best = inf if mode == "min" else -inf
        self.num_bad_epochs = 0
        self.cooldown_counter = 0
        self._last_lr = self.present_lr()

    def step(self, metrics: Any) -> None:  # type: ignore[override]
        """Take in the metric of an epoch: a number, or a tensor of one element."""
        current = float(metrics.item() if hasattr(metrics, "item") else metrics)
        self.last_epoch += 1
        if self._is_better(current):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self.present_lr()

    def _reduce(self) -> None:
        if len(self.min_lrs) != len(self.optimizer.param_groups):  # groups were added since
            self.min_lrs += [self.min_lrs[-1]] * (len(self.optimizer.param_groups) - len(self.min_lrs))
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    def _is_better(self, current: float) -> bool:
        down = self.mode == "min"
        if self.threshold_mode == "abs":
            return current < self.best - self.threshold if down else current > self.best + self.threshold
        is_less = down == (self.best >= 0.0)  # whether better values are nearer to 0: a negative one's are farther
        bound = self.best * (1.0 - self.threshold if is_less else 1.0 + self.threshold)
        return current < bound if down else current > bound
