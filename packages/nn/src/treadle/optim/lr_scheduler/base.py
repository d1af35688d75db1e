"""The base of every schedule."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from treadle.optim.optimizer import Optimizer

__all__ = ["LRScheduler"]


class LRScheduler:
    """Counts epochs and sets the ``lr`` of every group; a subclass says how in :meth:`get_lr`.

    ``last_epoch`` above -1 resumes an optimizer whose groups have their ``initial_lr``. To resume exactly, load the
    state dicts of the optimizer and of the schedule instead. An epoch is whatever lies between two calls of
    :meth:`step`: a pass over the data, or one batch. Groups that the optimizer gets later join in with the rates
    they come with, but keep them where a schedule has limits for each group.

    >>> from treadle.autograd import Tensor
    >>> from treadle.optim import SGD
    >>> schedule = LRScheduler(SGD([Tensor([0.0], requires_grad=True)], lr=0.5))
    >>> schedule.step()
    >>> schedule.last_epoch, schedule.get_last_lr()
    (1, [0.5])
    """

    not_saved: tuple[str, ...] = ("optimizer",)
    """Attributes that are no part of the state: the optimizer, which has its own, and functions."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"group {number} of the optimizer has no 'initial_lr' to resume a schedule from")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.begin()

    def begin(self) -> None:
        """The first step, which only sets the rates to start with."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[float]:
        """The rates of epoch ``last_epoch``, from the rates the groups have now."""
        return self.present_lr()

    def present_lr(self) -> list[float]:
        """The rates that the groups have."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_start_lr(self) -> list[float]:
        """The rates of epoch 0, whatever the groups have now; ``last_epoch`` is 0."""
        return list(self.base_lrs)

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def adopt(self) -> None:
        """Take in the groups that the optimizer got since: the rates they have are their initial ones."""
        for group in self.optimizer.param_groups[len(self.base_lrs) :]:
            self.base_lrs.append(group.setdefault("initial_lr", group["lr"]))

    def step(self) -> None:
        """Go on to the next epoch; called once after each, and after the optimizer's step."""
        self.adopt()
        self._step_count += 1
        self.last_epoch += 1
        self.set_lr(self.get_lr())

    def restart(self) -> None:
        """Go to epoch 0, as where a sequence reaches this schedule."""
        self.adopt()
        self.last_epoch = 0
        self.set_lr(self.get_start_lr())

    def rewind(self) -> None:
        """Go back to before the first step, so that a sequence can begin where it wants to."""
        self.last_epoch = -1

    def set_lr(self, rates: Sequence[float]) -> None:
        """Give each group its rate."""
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):  # groups may have been added since
            group["lr"] = rate
        self._last_lr = self.present_lr()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions, as plain numbers, strings and lists."""
        return {name: deepcopy(value) for name, value in vars(self).items() if name not in self.not_saved}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position of ``state_dict``.

        The rates come with the optimizer's state. Where it was loaded before this schedule was made, which set them to
        those of epoch 0, or not at all, they are those of ``state_dict``.
        """
        untouched = self.present_lr() == self._last_lr
        self.take_over(state_dict)
        if untouched:
            self.set_lr(self._last_lr)

    def take_over(self, state_dict: Mapping[str, Any]) -> None:
        """Take over the position alone."""
        vars(self).update({name: deepcopy(value) for name, value in state_dict.items() if name not in self.not_saved})


def check_optimizer(optimizer: Any) -> Optimizer:
    """The optimizer itself; TypeError for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a schedule needs an Optimizer, not {type(optimizer).__name__}")
    return optimizer


def for_each_group(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """One value a group, from one value for all or a list; ValueError if the list has another length."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"{name} has {len(value)} values, but the optimizer {groups} groups")
    return list(value)
