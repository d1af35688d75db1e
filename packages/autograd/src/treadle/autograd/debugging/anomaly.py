"""Where a NaN or an infinity first appeared, and what a graph connects."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd._location import Location, locate, position
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._tuples import TensorTuple, TupleGradient, TupleItem
from treadle.autograd._watching import Watcher
from treadle.autograd.debugging.reproduction import reproduction
from treadle.autograd.errors import NonFiniteError
from treadle.autograd.graph import Graph
from treadle.ndarray import NDArray

__all__ = ["Finding", "detect_anomaly", "first_nonfinite"]


def _has_bad(array: Any) -> bool:
    if isinstance(array, TupleGradient):
        return any(
            _has_bad(each.data if isinstance(each, Tensor) else each) for each in array.items if each is not None
        )
    return array.dtype.kind in "fc" and array.size > 0 and not bool(nd.all(nd.isfinite(array)))


def _range(array: NDArray) -> str:
    """The values in words: their range over the finite ones, and how many are not."""
    text = f"shape {array.shape}, {array.dtype.name}"
    if array.dtype.kind not in "fc" or array.size == 0:
        return text
    if array.dtype.kind == "c":
        array, text = nd.abs(array), text + ", magnitudes"
    finite = nd.isfinite(array)
    if array.dtype.kind == "f" and bool(nd.any(finite)):
        low = float(nd.min(nd.where(finite, array, float("inf"))))
        high = float(nd.max(nd.where(finite, array, float("-inf"))))
        text += f", from {low:.6g} to {high:.6g}"
    nan, infinite = int(nd.sum(nd.isnan(array))), int(nd.sum(nd.isinf(array)))
    return text + (f", {nan} NaN" if nan else "") + (f", {infinite} infinite" if infinite else "")


@dataclass(frozen=True, slots=True)
class Finding:
    """The op whose result was the first to hold a NaN or an infinity, though its operands held none.

    ``write_test(path)`` writes a pytest file that needs treadle alone and fails the same way.
    """

    op: Op
    inputs: tuple[Tensor, ...]
    output: Tensor
    location: Location | None
    introduced: bool

    def __str__(self) -> str:
        verb = "made" if self.introduced else "was handed"
        lines = [f"{self.op} {verb} the first NaN or infinity"]
        if self.location is not None:
            lines[0] += f", at {self.location}: {self.location.text}"
        lines += [f"  input {number}: {_range(each.data)}" for number, each in enumerate(self.inputs)]
        several = len(self.results) > 1
        lines += [f"  result{f' {at}' if several else ''}: {_range(each)}" for at, each in enumerate(self.results)]
        return "\n".join(lines)

    @property
    def results(self) -> tuple[NDArray, ...]:
        """The values of the result; several for an op with several results."""
        return _values(self.output)

    def write_test(self, path: str | Path) -> Path:
        """Write the reproduction; returns the path. Raises ValueError for an op that is not treadle's, or whose
        configuration cannot be written.
        """
        target = Path(path)
        target.write_text(reproduction(self.op, self.inputs), encoding="utf-8")
        return target


def _values(tensor: Tensor) -> tuple[NDArray, ...]:
    return tensor.parts if isinstance(tensor, TensorTuple) else (tensor.data,)


def first_nonfinite(*outputs: Tensor) -> Finding | None:
    """The first node, operands before results, whose value holds a NaN or an infinity; None if all are finite.

    Looks at the values that the graph behind the outputs still holds. Raises GraphFreedError when backward freed it.

    >>> import treadle.autograd as ag
    >>> x = ag.Tensor([-1.0, 4.0], requires_grad=True)
    >>> finding = ag.first_nonfinite(ag.exp(ag.sqrt(x)).sum())
    >>> finding.op, finding.introduced
    (Sqrt(), True)
    """
    for node in Graph.of(*outputs):
        tensor = node.tensor
        if tensor.op is None or isinstance(tensor.op, TupleItem):  # an item's values are looked at in its tuple
            continue
        if any(_has_bad(each) for each in _values(tensor)):
            fresh = not any(_has_bad(each.data) for each in tensor.inputs)
            return Finding(tensor.op, tensor.inputs, tensor, tensor.location, fresh)
    return None


class detect_anomaly(Watcher):
    """In a ``with`` block, stop at the first op whose result holds a NaN or an infinity though its operands hold none.

    Every forward of this thread is looked at, and every rule of a backward that runs inside the block; each costs one
    pass over the result. Raises NonFiniteError, whose ``finding`` has the op, its operands and the line.

    >>> import treadle.autograd as ag
    >>> with ag.detect_anomaly():
    ...     ag.log(ag.Tensor([-1.0]))
    Traceback (most recent call last):
        ...
    treadle.autograd.errors.NonFiniteError: Log() made the first NaN or infinity...
    """

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """Raise for a result that is the first to hold a NaN or an infinity."""
        if _has_bad(tensor.data) and not any(_has_bad(each.data) for each in inputs):
            finding = Finding(op, inputs, tensor, tensor.location or locate(position()), True)
            raise NonFiniteError(str(finding), finding)

    def on_gradient(self, node: Tensor, grad: Any) -> None:
        """Remember that the node's own gradient was at fault before its rule ran."""
        self._tainted = _has_bad(grad.data if isinstance(grad, Tensor) else grad)

    def on_contribution(self, node: Tensor, index: int, operand: Tensor, gradient: Any) -> None:
        """Raise for a gradient that is the first to hold a NaN or an infinity."""
        array = gradient.data if isinstance(gradient, Tensor) else gradient
        if _has_bad(array) and not self._tainted:
            op: Any = node.op
            finding = Finding(op, node.inputs, node, node.location, False)
            raise NonFiniteError(
                f"the backward rule of {op} made the first NaN or infinity, in the gradient of input {index}"
                f"{node._built_at()}: {_range(array)}\n" + "\n".join(str(finding).splitlines()[1:]),
                finding,
            )
