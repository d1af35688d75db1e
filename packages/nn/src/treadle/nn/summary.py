"""A module as a table: its parts, their output shapes, their parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from treadle.autograd import Op, Tensor, TupleOp, lazy, no_grad
from treadle.autograd._watching import Watcher
from treadle.autograd.cost import flops_of

if TYPE_CHECKING:
    from treadle.nn.module import Module

__all__ = ["Summary", "SummaryRow", "summarize"]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One module: its dotted name, class, the output shape ("" if it was not called), its own new parameters, and the
    floating-point operations of its calls, those of the modules below it included."""

    name: str
    kind: str
    output: str
    parameters: int
    shared: bool
    flops: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows and totals; ``print`` shows them as a table. A shared parameter is counted once.

    >>> import treadle.nn as nn
    >>> print(nn.Sequential(nn.Linear(4, 2), nn.ReLU()).summary(Tensor([[1.0, 2.0, 3.0, 4.0]])))
    name  module      output shape  parameters  FLOPs
    -------------------------------------------------
          Sequential  (1, 2)                       20
    0     Linear      (1, 2)                10     18
    1     ReLU        (1, 2)                        2
    -------------------------------------------------
    10 parameters, 10 of them trainable, 0.0 KiB, 20 FLOPs
    """

    rows: tuple[SummaryRow, ...]
    parameters: int
    trainable: int
    nbytes: int
    flops: int = 0

    def __str__(self) -> str:
        cells = [("name", "module", "output shape", "parameters", "FLOPs")]
        for row in self.rows:
            count = "shared" if row.shared else f"{row.parameters:,}" if row.parameters else ""
            cells.append((row.name, row.kind, row.output, count, f"{row.flops:,}" if row.flops else ""))
        widths = [max(len(line[column]) for line in cells) for column in range(5)]
        lines = [
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {output:<{widths[2]}}  {count:>{widths[3]}}  {ops:>{widths[4]}}"
            for name, kind, output, count, ops in cells
        ]
        lines = [line.rstrip() for line in lines]
        rule = "-" * (sum(widths) + 8)
        total = f"{self.parameters:,} parameters, {self.trainable:,} of them trainable, {self.nbytes / 1024:,.1f} KiB"
        total += f", {self.flops:,} FLOPs" if self.flops else ""
        return "\n".join([lines[0], rule, *lines[1:], rule, total])

    __repr__ = __str__


def summarize(module: "Module", inputs: Sequence[Any]) -> Summary:
    """The summary of ``module``; with ``inputs`` it is called on them once, in evaluation mode and without a graph."""
    outputs, flops = _called(module, inputs) if inputs else ({}, {})
    rows: list[SummaryRow] = []
    counted: set[int] = set()
    for name, part in module.named_modules():
        own = list(part.parameters(recurse=False))
        new = [parameter for parameter in own if id(parameter) not in counted]
        counted.update(id(parameter) for parameter in new)
        rows.append(
            SummaryRow(
                name,
                type(part).__name__,
                outputs.get(id(part), ""),
                sum(prod(parameter.shape) for parameter in new),
                bool(own) and not new,
                flops.get(id(part), 0),
            )
        )
    parameters = list(module.parameters())
    return Summary(
        tuple(rows),
        sum(prod(parameter.shape) for parameter in parameters),
        sum(prod(parameter.shape) for parameter in parameters if parameter.requires_grad),
        sum(parameter.data.nbytes for parameter in parameters),
        flops.get(id(module), 0),
    )


class _Operations(Watcher):
    """Counts the floating-point operations of the ops that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._last: Op | None = None

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """Add those of one call; an op with several results is shown once for each."""
        if op is self._last and isinstance(op, TupleOp):
            return
        self._last = op
        self.count += flops_of(op, tuple(each.shape for each in inputs), tensor.shape)


def _called(module: "Module", inputs: Sequence[Any]) -> tuple[dict[int, str], dict[int, int]]:
    """The output shape and the operations of every module, by its identity."""
    shapes: dict[int, str] = {}
    flops: dict[int, int] = {}
    begun: list[int] = []
    operations = _Operations()

    def begin(part: Any, _: Any) -> None:
        begun.append(operations.count)

    def record(part: Any, _: Any, output: Any) -> None:
        shapes[id(part)] = _shape_text(output)
        flops[id(part)] = flops.get(id(part), 0) + operations.count - begun.pop()

    modes = [(part, part.training) for part in module.modules()]
    handles = [part.register_forward_pre_hook(begin) for part, _ in modes]
    handles += [part.register_forward_hook(record) for part, _ in modes]
    try:
        module.eval()
        with no_grad(), lazy(False), operations:
            module(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for part, training in modes:
            part.training = training
    return shapes, flops


def _shape_text(output: Any) -> str:
    if isinstance(output, Tensor):
        return str(output.shape)
    if isinstance(output, (list, tuple)):
        return ", ".join(_shape_text(item) for item in output)
    return type(output).__name__
