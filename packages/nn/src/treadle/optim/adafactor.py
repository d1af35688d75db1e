"""Adafactor."""

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.optim.optimizer import Optimizer, require

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: steps of g / sqrt(v), where v of a matrix is kept as the averages of its rows and columns.

    The decay of update t is 1 - t ** ``beta2_decay``; a step is scaled by the parameter's root mean square, at least
    ``eps[1]``, and by min(lr, 1 / sqrt(t)), and cut where its own root mean square exceeds ``d``. ``eps[0]``, the
    smallest root of v, is the dtype's resolution by default. ``weight_decay`` shrinks the parameter itself. Shazeer and
    Stern 2018, "Adafactor: adaptive learning rates with sublinear memory cost", algorithms 4 and 5.

    >>> w = Tensor([2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> Adafactor([w], lr=0.25).step()
    >>> round(w.item(), 6)
    1.5
    """

    nonnegative = ("lr", "weight_decay")
    optional_state = ("row_var", "col_var", "variance")

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        eps = options["eps"]
        fits = len(eps) == 2 and (eps[0] is None or eps[0] >= 0.0) and eps[1] >= 0.0
        require(fits, "eps", eps, "two numbers of 0 or more, of which the first may be None")
        require(options["beta2_decay"] <= 0.0, "beta2_decay", options["beta2_decay"], "0 or less")
        require(options["d"] >= 1.0, "d", options["d"], "1 or more")

    def state_names(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        return ("step",)

    def state_shape(self, name: str, tensor: Tensor) -> tuple[int, ...]:
        if name == "row_var":
            return (*tensor.shape[:-1], 1)
        return (*tensor.shape[:-2], 1, tensor.shape[-1]) if name == "col_var" else tensor.shape

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        data = parameter.data
        if not state:
            state["step"] = 0
            for name in ("row_var", "col_var") if data.ndim > 1 else ("variance",):
                state[name] = nd.zeros(self.state_shape(name, parameter), dtype=data.dtype, device=data.device)
        state["step"] += 1
        if options["maximize"]:
            gradient = -gradient
        least, least_size = options["eps"]
        if least is None:
            least = nd.finfo(data.dtype).eps
        share = state["step"] ** options["beta2_decay"]
        rate = max(least_size, _root_mean_square(data)) * min(options["lr"], 1.0 / sqrt(state["step"]))
        if options["weight_decay"] != 0.0:
            data *= 1.0 - options["lr"] * options["weight_decay"]
        variance = _variance(nd.square(gradient), state, share, least)
        step = gradient / nd.sqrt(nd.maximum(variance, least * least))
        data -= step * (rate / max(1.0, _root_mean_square(step) / options["d"]))


def _variance(square: nd.NDArray, state: Mapping[str, nd.NDArray], share: float, least: float) -> nd.NDArray:
    """The averaged square, of a matrix as the product of its rows' and columns' averages (algorithm 4)."""
    if square.ndim < 2:
        _move(state["variance"], square, share)
        return state["variance"]
    rows, columns = state["row_var"], state["col_var"]
    _move(rows, nd.mean(square, axis=-1, keepdims=True), share)
    _move(columns, nd.mean(square, axis=-2, keepdims=True), share)
    product: nd.NDArray = rows * columns / nd.maximum(nd.mean(rows, axis=-2, keepdims=True), least)
    return product


def _move(average: nd.NDArray, value: nd.NDArray, share: float) -> None:
    average += (value - average) * share


def _root_mean_square(array: nd.NDArray) -> float:
    size: float = sqrt(nd.mean(nd.square(array)).item()) if array.size else 0.0
    return size
