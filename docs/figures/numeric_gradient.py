"""Draws docs/images/numeric-gradient.svg: the error of the central difference against its step.

``python docs/figures/numeric_gradient.py`` needs matplotlib.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "treadle"
import matplotlib.pyplot as plt  # noqa: E402 - the backend comes first

import treadle.ndarray as nd  # noqa: E402

TARGET = Path(__file__).parent.parent / "images" / "numeric-gradient.svg"
POINTS = np.linspace(0.3, 2.0, 200)


def _errors(dtype: nd.DType, steps: np.ndarray) -> list[float]:
    """The mean relative error of (f(x + h) - f(x - h)) / 2h for f = exp(sin(x)), everything computed in the dtype."""
    points = nd.asarray(POINTS, dtype=dtype)
    exact = np.exp(np.sin(POINTS)) * np.cos(POINTS)
    found = []
    for step in steps:
        above, below = nd.exp(nd.sin(points + float(step))), nd.exp(nd.sin(points - float(step)))
        difference = ((above - below) / (2.0 * float(step))).numpy().astype("float64")
        found.append(float(np.mean(np.abs(difference - exact)) / np.mean(np.abs(exact))))
    return found


def main() -> None:
    """Draw it."""
    steps = 10.0 ** np.linspace(-12, 0, 61)
    figure, axes = plt.subplots(figsize=(7.2, 4.0))
    for dtype, colour in ((nd.float64, "#1565c0"), (nd.float32, "#d2601a")):
        axes.loglog(steps, _errors(dtype, steps), color=colour, label=dtype.name)
    axes.loglog(steps, steps**2 / 6, color="#90a4ae", linestyle="--", linewidth=1, label="truncation, h² / 6")
    axes.loglog(steps, 1.1e-16 / steps, color="#90a4ae", linestyle=":", linewidth=1, label="rounding, ε / h")
    for step in (1e-6, 1e-4):
        axes.axvline(step, color="#cfd8dc", linewidth=1, zorder=0)
    axes.set_xlabel("step h")
    axes.set_ylabel("relative error of the numeric gradient")
    axes.set_ylim(1e-13, 10)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
