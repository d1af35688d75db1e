"""Draws docs/images/graph-by-module.svg: a small residual network, one box a module call.

``python docs/figures/graph_by_module.py`` needs nothing but treadle.
"""

from pathlib import Path

import treadle.autograd as ag
import treadle.nn as nn

TARGET = Path(__file__).parent.parent / "images" / "graph-by-module.svg"


class Block(nn.Module):
    """A hidden layer around which its input is added again."""

    def __init__(self, width: int) -> None:
        self.linear = nn.Linear(width, width)
        self.act = nn.ReLU()

    def forward(self, x: ag.Tensor) -> ag.Tensor:
        """Shape in, shape out."""
        return x + self.act(self.linear(x))


def main() -> None:
    """Draw it."""
    model = nn.Sequential(nn.Linear(64, 32), Block(32), nn.Linear(32, 10))
    loss = nn.CrossEntropyLoss()(model(ag.ones((16, 64))), ag.zeros(16, dtype="int64"))
    ag.Graph.of(loss).collapse().svg(TARGET)


if __name__ == "__main__":
    main()
