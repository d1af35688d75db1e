"""What a trainer asks of its parts before it takes them, and how it reads batches and loaders."""

import inspect
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

from treadle.autograd import Tensor
from treadle.nn.callbacks import Callback
from treadle.nn.errors import CheckpointError
from treadle.nn.module import Module

__all__ = ["check_options", "check_parts", "emptiness", "has_length", "rest_of", "rows_of", "share_of", "wants_measure"]

_EVENTS = [name for name in vars(Callback) if not name.startswith("_")]
_OWN_COLUMNS = {"epoch", "loss", "lr"}


def check_parts(
    model: Any, optimizer: Any, loss_function: Any, metrics: Any, scheduler: Any, ema: Any, callbacks: Sequence[Any]
) -> None:
    """TypeError for a part of another kind, ValueError for parts that do not belong together."""
    if not isinstance(model, Module):
        raise TypeError(f"the model must be a Module, not {_kind(model)}")
    for name in ("param_groups", "step", "zero_grad"):
        if isinstance(optimizer, type) or not hasattr(optimizer, name):
            raise TypeError(f"the optimizer must be one made from the model's parameters, not {_kind(optimizer)}")
    for name, function in {"loss function": loss_function, **_named(metrics)}.items():
        if isinstance(function, type) or not (callable(function) or hasattr(function, "update")):
            raise TypeError(f"the {name} must be called with output and target, not {_kind(function)}")
    for callback in callbacks:
        if isinstance(callback, type) or not all(hasattr(callback, name) for name in _EVENTS):
            raise TypeError(f"callbacks and checkpoints must be Callbacks, not {_kind(callback)}")
    if ema is not None and (isinstance(ema, type) or not hasattr(ema, "update")):
        raise TypeError(f"the ema must have update(), as an ExponentialMovingAverage has, and is {_kind(ema)}")
    if getattr(scheduler, "optimizer", optimizer) is not optimizer:
        raise ValueError("the scheduler is that of another optimizer")
    _check_learns(model, optimizer)


def _kind(value: Any) -> str:
    return f"the class {value.__name__}: call it" if isinstance(value, type) else f"a {type(value).__name__}"


def _named(metrics: Any) -> dict[str, Any]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"metrics must be a dict of functions or Metrics by name, not {_kind(metrics)}")
    taken = sorted(_OWN_COLUMNS & set(metrics))
    if taken:
        raise ValueError(f"the history has columns named {', '.join(taken)} of its own; rename the metrics")
    return {f"metric {name!r}": function for name, function in metrics.items()}


def _check_learns(model: Module, optimizer: Any) -> None:
    """ValueError for an optimizer that was made for another model, or before this one was copied."""
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if learnt and not any(id(parameter) in held for parameter in learnt):
        raise ValueError("the optimizer has none of the model's parameters; make it from this model's parameters()")


def wants_measure(scheduler: Any) -> bool:
    """Whether the step of a schedule has an argument that must be given."""
    parameters = list(inspect.signature(scheduler.step).parameters.values())
    return bool(parameters) and parameters[0].default is inspect.Parameter.empty


def check_options(scheduler: Any, interval: str, accumulate: int, limits: Mapping[str, float | None]) -> None:
    """TypeError or ValueError for options of the trainer that make no sense."""
    if interval not in ("epoch", "step"):
        raise ValueError(f"scheduler_interval must be 'epoch' or 'step', not {interval!r}")
    if operator.index(accumulate) < 1:
        raise ValueError(f"accumulate must be 1 or more batches, not {accumulate}")
    if scheduler is not None and interval == "step" and wants_measure(scheduler):
        raise ValueError(f"{type(scheduler).__name__} steps by a measure, which there is after an epoch only")
    for name, limit in limits.items():
        if limit is not None and not limit >= 0.0:
            raise ValueError(f"{name} must be 0 or more, not {limit}")


def rest_of(loader: Iterable[Any], batches: int) -> Iterator[Any]:
    """What comes behind ``batches`` batches; a loader that knows its position has skipped them."""
    if has_length(loader) and batches > len(loader):  # type: ignore[arg-type]
        raise CheckpointError(_too_short(batches, f"has {len(loader)}"))  # type: ignore[arg-type]
    given = iter(loader)
    if not hasattr(loader, "load_state_dict"):
        skipped = sum(1 for _ in islice(given, batches))
        if skipped < batches:
            raise CheckpointError(_too_short(batches, f"ends after {skipped}"))
    return given


def _too_short(batches: int, what: str) -> str:
    return f"the run stood after {batches} batches of an epoch, and this loader {what}; resume it with the same data"


def rows_of(target: Any) -> int:
    """How many rows a batch has: those of the first array in its target that has any dimensions, or 1."""
    return next((shape[0] for shape in _shapes(target) if shape), 1)


def share_of(loss_function: Any, target: Any) -> Any:
    """By what the mean of a batch's loss was divided, 0-d, if the loss tells that it is not the number of rows."""
    counted = getattr(loss_function, "counted", None)
    return counted(target) if counted is not None and isinstance(target, Tensor) else None


def _shapes(target: Any) -> Iterator[Sequence[int]]:
    if isinstance(target, Mapping):
        target = tuple(target.values())
    if isinstance(target, (list, tuple)):
        for each in target:
            yield from _shapes(each)
    else:
        yield getattr(target, "shape", ())


def has_length(loader: Any) -> bool:
    """Whether it is known how many batches a loader has."""
    try:
        return isinstance(loader, Sized) and len(loader) >= 0
    except TypeError:
        return False


def emptiness(loader: Any) -> str:
    """Why a loader may have given no batches."""
    batch_size = getattr(loader, "batch_size", None)
    if getattr(loader, "drop_last", False) and batch_size:
        return f"the loader has no batches: its data set has fewer samples than batch_size={batch_size}, and drop_last"
    return "the loader has no batches: its data set is empty, or it is an iterator that was used up"
