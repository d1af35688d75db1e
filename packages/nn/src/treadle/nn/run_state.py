"""The whole state of a training run as one nested state, and back.

It has the weights, the optimizer's, the schedule's and the callbacks' state, the position of the loaders, the sums of
the epoch that is under way, and the generators of treadle, ``random`` and (where it is loaded) NumPy. No time of day or
path is in it: two runs that do the same write the same bytes.
"""

import random
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import treadle.ndarray as nd
from treadle.nn.errors import CheckpointError

if TYPE_CHECKING:
    from treadle.nn.trainer import Trainer

__all__ = ["captured", "generators", "restored", "set_generators"]

_FORMAT = 1
_STATEFUL = ("optimizer", "scheduler", "ema")


def captured(trainer: "Trainer") -> dict[str, Any]:
    """The state of a run between two steps."""
    return {
        "format": _FORMAT,
        "model": trainer.model.state_dict(),
        **{name: _state_of(getattr(trainer, name)) for name in _STATEFUL},
        "callbacks": [callback.state_dict() for callback in trainer.all_callbacks()],
        "metrics": {name: _state_of(metric) for name, metric in trainer.metrics.items()},
        "history": [dict(row) for row in trainer.history.rows],
        "means": None if trainer.means is None else trainer.means.state_dict(),
        "progress": {"step": trainer.step, "batches": trainer.batches, "stopped": trainer.stopped},
        "loaders": {name: _state_of(loader) for name, loader in trainer.loaders.items()},
        "generators": generators(),
    }


def restored(trainer: "Trainer", state: Any, source: Any) -> None:
    """Put a captured state into a trainer of the same parts. CheckpointError if it has other parts."""
    if not isinstance(state, dict) or state.get("format") != _FORMAT:
        raise CheckpointError(f"{source} holds no training run")
    try:
        _restore(trainer, state, source)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{source} holds no whole training run: {error!r}") from error


def _restore(trainer: "Trainer", state: Mapping[str, Any], source: Any) -> None:
    callbacks = trainer.all_callbacks()
    differing = [name for name in _STATEFUL if (state[name] is None) != (_state_of(getattr(trainer, name)) is None)]
    if len(state["callbacks"]) != len(callbacks):
        differing.append("callbacks")
    if state["metrics"].keys() != trainer.metrics.keys():
        differing.append("metrics")
    if differing:
        raise CheckpointError(f"{source} is of a run with other parts: {', '.join(differing)}")
    trainer.model.load_state_dict(state["model"])
    for name in _STATEFUL:
        _load(getattr(trainer, name), state[name])
    for callback, each in zip(callbacks, state["callbacks"], strict=True):
        callback.load_state_dict(each)
    for name, metric in trainer.metrics.items():
        _load(metric, state["metrics"][name])
    trainer.take_up(state["history"], state["means"], state["progress"], state["loaders"])
    set_generators(state["generators"])


def _state_of(part: Any) -> Any:
    return part.state_dict() if hasattr(part, "state_dict") else None


def _load(part: Any, state: Any) -> None:
    if state is not None:
        part.load_state_dict(state)


def generators() -> dict[str, Any]:
    """The states of the process's generators."""
    numpy = sys.modules.get("numpy")
    return {
        "treadle": nd.random.default_generator.state(),
        "random": random.getstate(),
        "numpy": None if numpy is None else numpy.random.get_state(),
    }


def set_generators(states: Mapping[str, Any]) -> None:
    """Go on where the generators stood."""
    nd.random.default_generator.set_state(states["treadle"])
    random.setstate(states["random"])
    if states["numpy"] is not None:
        import numpy

        kind, keys, *rest = states["numpy"]
        numpy.random.set_state((kind, keys.numpy(), *rest))
