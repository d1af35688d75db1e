"""Curves of a training run, drawn with matplotlib: the extra ``treadle-nn[plot]``."""

import os
from typing import TYPE_CHECKING, Any

from treadle.ndarray.atomic import atomic_write

if TYPE_CHECKING:
    from treadle.nn.history import History

__all__ = ["require_matplotlib", "save_curves"]

VALIDATION = "validation_"
_TRAINING_COLOR, _VALIDATION_COLOR, _GRID_COLOR = "#2563eb", "#ea580c", "#e5e7eb"
_BESIDE_METRICS = ("epoch", "lr")


def require_matplotlib() -> Any:
    """The class ``Figure`` of matplotlib; an ImportError that says how to install it where it is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures of curves need matplotlib: install the extra treadle-nn[plot]") from error
    return Figure


def save_curves(history: "History", path: str | os.PathLike[str]) -> None:
    """One panel for each measure, training and validation together, as a PNG."""
    names = [name for name in history.columns if name not in _BESIDE_METRICS and not name.startswith(VALIDATION)]
    if not names:
        raise ValueError("the history has no measure to draw")
    figure = require_matplotlib()(figsize=(5.2 * len(names), 3.6), dpi=130, layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        _draw(axes, history, name)
    with atomic_write(path, make_folders=True) as file:
        figure.savefig(file, format="png")


def _draw(axes: Any, history: "History", name: str) -> None:
    epochs = history["epoch"]
    held_out = VALIDATION + name
    axes.plot(epochs, history[name], color=_TRAINING_COLOR, linewidth=1.8, label="training")
    if held_out in history.columns:
        values = history[held_out]
        axes.plot(epochs, values, color=_VALIDATION_COLOR, linewidth=1.8, label=f"validation, last {values[-1]:.4f}")
    axes.set_title(name, loc="left", fontweight="bold")
    axes.set_xlabel("epoch")
    axes.grid(color=_GRID_COLOR)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
