"""Schedules given by functions."""

from collections.abc import Callable, Sequence

from treadle.optim.lr_scheduler.base import LRScheduler, check_optimizer, for_each_group
from treadle.optim.optimizer import Optimizer

__all__ = ["LambdaLR", "MultiplicativeLR"]

Factor = Callable[[int], float]


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch, one for all groups or a list of one each.

    Functions are no part of the state: a resumed run gives them to the constructor again.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = LambdaLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), lambda epoch: 0.5**epoch)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    not_saved = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        self.lr_lambdas = for_each_group("lr_lambda", lr_lambda, check_optimizer(optimizer))
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda must be a function, not {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def adopt(self) -> None:
        """Take in the groups that the optimizer got since, if one function serves all."""
        if len({id(function) for function in self.lr_lambdas}) == 1:
            super().adopt()
            self.lr_lambdas += self.lr_lambdas[:1] * (len(self.base_lrs) - len(self.lr_lambdas))

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``."""
        return [rate * factor(self.last_epoch) for rate, factor in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0."""
        return self.get_lr()


class MultiplicativeLR(LambdaLR):
    """Multiplies the rate each epoch by a function of the epoch, but not at the first.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = MultiplicativeLR(SGD([Tensor([0.0], requires_grad=True)], lr=1.0), lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        rates = self.present_lr()
        if self._is_initial:
            return rates
        return [rate * factor(self.last_epoch) for rate, factor in zip(rates, self.lr_lambdas, strict=False)]
