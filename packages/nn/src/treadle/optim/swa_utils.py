"""Averages of whole models: stochastic weight averaging, its schedule, and batch norms of the average.

Izmailov et al. 2018, "Averaging weights leads to wider optima and better generalization".

>>> import treadle.nn as nn
>>> model = nn.Linear(1, 1)
>>> averaged = AveragedModel(model)
>>> for value in (1.0, 3.0):
...     model.weight.data[...] = value
...     averaged.update_parameters(model)
>>> averaged.module.weight.item()
2.0
"""

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from math import cos, pi
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, no_grad
from treadle.nn.layers.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d
from treadle.nn.module import Module
from treadle.optim.lr_scheduler.base import LRScheduler, for_each_group
from treadle.optim.optimizer import Optimizer, require

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_swa_avg_fn", "update_bn"]

Average = Callable[[Tensor, Tensor, Any], Tensor]


def get_swa_avg_fn() -> Average:
    """The equal average, for :class:`AveragedModel`: a + (w - a) / (n + 1).

    >>> get_swa_avg_fn()(Tensor([1.0]), Tensor([4.0]), 2).tolist()
    [2.0]
    """
    return lambda averaged, present, count: averaged + (present - averaged) * (1.0 / (int(count) + 1))


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The moving average, for :class:`AveragedModel`: decay * a + (1 - decay) * w.

    >>> get_ema_avg_fn(0.75)(Tensor([1.0]), Tensor([5.0]), 2).tolist()
    [2.0]
    """
    require(0.0 <= decay <= 1.0, "decay", decay, "between 0 and 1")
    return lambda averaged, present, count: averaged * decay + present * (1.0 - decay)


class AveragedModel(Module):
    """A copy of ``model``, ``module``, whose parameters average those that :meth:`update_parameters` is given.

    The first update copies them; ``avg_fn(averaged, present, n_averaged)`` says how later ones count,
    :func:`get_swa_avg_fn` by default. With ``use_buffers`` floating buffers are averaged too, else copied.

    >>> import treadle.nn as nn
    >>> AveragedModel(nn.Linear(2, 1))(Tensor([[1.0, 2.0]])).shape
    (1, 1)
    """

    n_averaged: Tensor

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Average | None = None, use_buffers: bool = False
    ) -> None:
        super().__init__()
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", Tensor(nd.asarray(0, dtype=nd.int64)))
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else avg_fn
        self.use_buffers = use_buffers
        if device is not None:
            self.to(device)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of ``model`` into the average. ValueError for a model of other parameters."""
        averaged, present = self._tensors(self.module), self._tensors(model)
        if [each.shape for each in averaged] != [each.shape for each in present]:
            raise ValueError("update_parameters: the model has other parameters than the one that is averaged")
        count = int(self.n_averaged.item())
        with no_grad():
            for mean, value in zip(averaged, present, strict=True):
                there = value.detach().to(mean.device)
                is_first = count == 0 or mean.dtype.kind != "f"
                mean.data[...] = (there if is_first else self.avg_fn(mean.detach(), there, count)).data
            if not self.use_buffers:
                for mean, value in zip(self.module.buffers(), model.buffers(), strict=True):
                    mean.data[...] = value.data.to_device(mean.device)
        self.n_averaged.data[...] = count + 1

    def _tensors(self, model: Module) -> list[Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]


class SWALR(LRScheduler):
    """Anneals each group's rate to ``swa_lr`` over ``anneal_epochs`` and leaves it there; "cos" or "linear".

    >>> from treadle.optim import SGD
    >>> optimizer = SGD([Tensor([0.0], requires_grad=True)], lr=1.0)
    >>> schedule = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += schedule.get_last_lr()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        require(operator.index(anneal_epochs) >= 0, "anneal_epochs", anneal_epochs, "0 or more")
        for rate, group in zip(for_each_group("swa_lr", swa_lr, optimizer), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs = anneal_epochs
        self.anneal_strategy = anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The rates from those the groups have now, whose share of the way is undone first."""
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1.0 else (group["lr"] - goal * before) / (1.0 - before)
            rates.append(goal * now + start * (1.0 - now))
        return rates

    def _share(self, step: int) -> float:
        """How much of the way to the new rate is gone."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1.0 - cos(pi * part)) / 2.0 if self.anneal_strategy == "cos" else part


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Set the running statistics of all batch norms of ``model`` to those of the batches of ``loader``.

    A batch is a tensor or a tuple that begins with one, which the model is called with, on ``device`` if it is given.
    The modes of the modules are put back.

    >>> import treadle.nn as nn
    >>> model = nn.BatchNorm1d(1)
    >>> update_bn([Tensor([[1.0], [3.0]])], model)
    >>> model.running_mean.tolist(), model.running_var.tolist()
    ([2.0], [2.0])
    """
    kinds = (BatchNorm1d, BatchNorm2d, BatchNorm3d)
    norms: list[Any] = [each for each in model.modules() if isinstance(each, kinds) and each.running_mean is not None]
    if not norms:
        return
    modes = [(module, module.training) for module in model.modules()]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    try:
        with no_grad():
            for batch in loader:
                input = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(input if device is None else input.to(device))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        for module, training in modes:
            module.training = training
