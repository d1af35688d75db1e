"""L-BFGS."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor, enable_grad
from treadle.optim._line_search import Point, strong_wolfe
from treadle.optim.optimizer import Optimizer, require

__all__ = ["LBFGS"]

_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """Limited-memory BFGS: several steps of a quasi-Newton method at each :meth:`step`, which needs a closure.

    All parameters are one vector. Up to ``max_iter`` directions are followed, by ``lr`` or, with
    ``line_search_fn="strong_wolfe"``, by a line search; none begins after ``max_eval`` (1.25 * max_iter) losses.
    A largest gradient of ``tolerance_grad``, or a change of parameters or loss below ``tolerance_change``, ends a step.
    Nocedal and Wright 2006, "Numerical optimization", algorithms 7.4 and 7.5.

    >>> w = Tensor([4.0], requires_grad=True)
    >>> optimizer = LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1.0) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure).item()
    9.0
    >>> round(w.item(), 4)
    1.0
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS takes one group of parameters, not {len(self.param_groups)}")

    nonnegative = ("lr", "tolerance_grad", "tolerance_change")

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        for name in ("max_iter", "history_size"):
            require(isinstance(options[name], int) and options[name] >= 1, name, options[name], "1 or more")
        known = options["line_search_fn"] in (None, "strong_wolfe")
        require(known, "line_search_fn", options["line_search_fn"], "None or 'strong_wolfe'")

    def update(self, parameter: Tensor, gradient: nd.NDArray, state: dict[str, Any], options: dict[str, Any]) -> None:
        raise NotImplementedError("LBFGS changes all parameters together, in step")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Follow up to ``max_iter`` directions; ``closure`` clears the gradients, computes the loss and its backward.

        It is called several times, and returns the loss, of which the first is returned here. TypeError without one.
        """
        if closure is None:
            raise TypeError("LBFGS.step needs a closure that computes the loss and calls backward")
        options = self.param_groups[0]
        state = self._following(self._parameters()[0])
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss, loss, gradient = self._evaluated(closure)
        evaluations = 1
        state["func_evals"] += 1
        if _largest(gradient) <= options["tolerance_grad"]:
            return first_loss
        for iteration in range(1, options["max_iter"] + 1):
            state["n_iter"] += 1
            _turn(state, gradient, options["history_size"])
            previous = loss
            state["prev_flat_grad"], state["prev_loss"] = gradient, loss
            rate = options["lr"]
            state["t"] = min(1.0, 1.0 / nd.sum(nd.abs(gradient)).item()) * rate if state["n_iter"] == 1 else rate
            slope = nd.vecdot(gradient, state["d"]).item()
            if slope > -options["tolerance_change"]:
                break
            is_last = iteration == options["max_iter"]
            left = options["max_eval"] - evaluations
            loss, gradient, made = self._moved(closure, state, Point(0.0, loss, gradient, slope), left, is_last)
            evaluations += made
            state["func_evals"] += made
            change = options["tolerance_change"]
            if evaluations >= options["max_eval"] or _largest(gradient) <= options["tolerance_grad"]:
                break
            if _largest(state["d"] * state["t"]) <= change or abs(loss - previous) < change:
                break
        return first_loss

    def _moved(
        self, closure: Callable[[], Any], state: dict[str, Any], start: Point, left: int, is_last: bool
    ) -> tuple[float, nd.NDArray, int]:
        """Go along the direction; the loss and the gradient there, and how many evaluations it took of those left."""
        direction = state["d"]
        if self.param_groups[0]["line_search_fn"] is None:
            self._add(direction, state["t"])
            if is_last:
                return start.value, start.gradient, 0
            _, loss, gradient = self._evaluated(closure)
            return loss, gradient, 1
        origin = [parameter.data.copy() for parameter in self._parameters()]

        def evaluate(step: float) -> Point:
            self._add(direction, step)
            _, loss, gradient = self._evaluated(closure)
            self._put_back(origin)
            return Point(step, loss, gradient, nd.vecdot(gradient, direction).item())

        found, made = strong_wolfe(evaluate, start, state["t"], _largest(direction), left)
        state["t"] = found.step
        self._add(direction, found.step)
        return found.value, found.gradient, made

    def _evaluated(self, closure: Callable[[], Any]) -> tuple[Any, float, nd.NDArray]:
        """The loss as it was returned and as a number, and all gradients as one vector of its own."""
        with enable_grad():
            loss = closure()
        parts = [
            nd.zeros((parameter.size,), dtype=parameter.dtype, device=parameter.device)
            if parameter.grad is None
            else parameter.grad.data.reshape((parameter.size,))
            for parameter in self._parameters()
        ]
        return loss, float(loss), nd.concat(parts) if len(parts) > 1 else parts[0].copy()

    def _add(self, direction: nd.NDArray, step: float) -> None:
        start = 0
        for parameter in self._parameters():
            part = direction[start : start + parameter.size]
            parameter.data[...] = parameter.data + part.reshape(parameter.shape) * step
            start += parameter.size

    def _put_back(self, values: list[nd.NDArray]) -> None:
        for parameter, value in zip(self._parameters(), values, strict=True):
            parameter.data[...] = value

    def _restored(self, name: str, value: Any, tensor: Tensor) -> Any:
        """Vectors over all parameters, lists of them, and numbers."""
        if isinstance(value, (list, tuple)):
            return [self._restored(name, each, tensor) for each in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        array = value.data if isinstance(value, Tensor) else nd.asarray(value, device="cpu")
        if array.ndim == 0:
            return array.item()
        size = sum(parameter.size for parameter in self._parameters())
        if array.shape != (size,):
            raise ValueError(f"state {name!r} has shape {array.shape}, but there are {size} elements")
        return array.astype(tensor.dtype, copy=True).to_device(tensor.device)


def _largest(vector: nd.NDArray) -> float:
    largest: float = nd.max(nd.abs(vector)).item() if vector.size else 0.0
    return largest


def _turn(state: dict[str, Any], gradient: nd.NDArray, history: int) -> None:
    """Set the next direction ``d`` from the gradient and the steps that are remembered (algorithm 7.4)."""
    if state["n_iter"] == 1:
        state.update(d=-gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
        return
    difference, moved = gradient - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = nd.vecdot(difference, moved).item()
    differences, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
    if curvature > _LEAST_CURVATURE:
        if len(differences) == history:
            for kept in (differences, steps, inverses):
                kept.pop(0)
        differences.append(difference)
        steps.append(moved)
        inverses.append(1.0 / curvature)
        state["H_diag"] = curvature / nd.vecdot(difference, difference).item()
    direction = -gradient
    factors = []
    for y, s, inverse in zip(reversed(differences), reversed(steps), reversed(inverses), strict=True):
        factors.append(nd.vecdot(s, direction).item() * inverse)
        direction = direction - y * factors[-1]
    direction = direction * state["H_diag"]
    for y, s, inverse, factor in zip(differences, steps, inverses, reversed(factors), strict=True):
        direction = direction + s * (factor - nd.vecdot(y, direction).item() * inverse)
    state["d"] = direction
