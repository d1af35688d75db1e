"""Means over the rows of an epoch, from means over its batches."""

from collections.abc import Mapping
from math import isfinite, nan
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn.errors import NonFiniteLossError

__all__ = ["Means", "scalar"]


def scalar(name: str, value: Any) -> float:
    """A number as a float: of Python, NumPy, or an array or tensor of one element. TypeError or ShapeError names it."""
    if isinstance(value, (Tensor, nd.NDArray)):
        if value.size != 1:
            raise nd.ShapeError(f"{name} has shape {value.shape}; it must be one number, the mean over the batch")
        return float(value.item())
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be a number or an array of one, not {type(value).__name__}") from error


class Means:
    """Means over rows.

    Values of a GPU stay there and are fetched many at a time, so that no step waits for it. ``finite``: the loss must
    be.
    """

    _PENDING = 256

    def __init__(self, *, finite: bool = False) -> None:
        self._finite = finite
        self._pending: list[tuple[int, Any, Mapping[str, Any]]] = []
        self._batches = 0
        self._rows = 0
        self._shares = 0.0
        self._totals: dict[str, float] = {}

    def add(self, values: Mapping[str, Any], rows: int, share: Any = None) -> None:
        """Take in the values of one batch; the loss counts as its ``share`` says, or else by the rows as all others."""
        self._pending.append((rows, rows if share is None else share, values))
        if len(self._pending) >= self._PENDING:
            self.fetch()

    def fetch(self) -> None:
        """Have all values here. NonFiniteLossError if a loss that must be finite is not."""
        pending, self._pending = self._pending, []
        for rows, share, values in pending:
            self._rows += rows
            self._batches += 1
            shares = scalar("the share of a loss", share)
            self._shares += shares
            for name, value in values.items():
                number = scalar(name, value)
                if self._finite and name == "loss" and not isfinite(number):
                    raise NonFiniteLossError(
                        f"the loss of batch {self._batches} of the epoch is {number}, and steps have been made since; "
                        "a lower learning rate or max_grad_norm may help"
                    )
                part = shares if name == "loss" else rows
                self._totals[name] = self._totals.get(name, 0.0) + (part * number if part else 0.0)

    def values(self) -> dict[str, float]:
        """The means; empty if there was no batch."""
        self.fetch()
        whole = {"loss": self._shares or nan}
        return {name: total / whole.get(name, self._rows) for name, total in self._totals.items()} if self._rows else {}

    def state_dict(self) -> dict[str, Any]:
        """The sums so far."""
        self.fetch()
        return {"batches": self._batches, "rows": self._rows, "shares": self._shares, "totals": dict(self._totals)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from the sums of ``state_dict``."""
        self._batches, self._rows = state_dict["batches"], state_dict["rows"]
        self._shares = state_dict.get("shares", float(self._rows))
        self._totals = dict(state_dict["totals"])
