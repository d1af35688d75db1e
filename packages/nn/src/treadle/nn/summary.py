"""A module as a table: its parts, their output shapes, their parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from treadle.autograd import Tensor, no_grad

if TYPE_CHECKING:
    from treadle.nn.module import Module

__all__ = ["Summary", "SummaryRow", "summarize"]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One module: its dotted name, class, the output shape ("" if it was not called) and its own new parameters."""

    name: str
    kind: str
    output: str
    parameters: int
    shared: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """The rows and totals; ``print`` shows them as a table. A shared parameter is counted once."""

    rows: tuple[SummaryRow, ...]
    parameters: int
    trainable: int
    nbytes: int

    def __str__(self) -> str:
        cells = [("name", "module", "output shape", "parameters")]
        for row in self.rows:
            count = "shared" if row.shared else f"{row.parameters:,}" if row.parameters else ""
            cells.append((row.name, row.kind, row.output, count))
        widths = [max(len(line[column]) for line in cells) for column in range(4)]
        lines = [
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {output:<{widths[2]}}  {count:>{widths[3]}}".rstrip()
            for name, kind, output, count in cells
        ]
        rule = "-" * (sum(widths) + 6)
        total = f"{self.parameters:,} parameters, {self.trainable:,} of them trainable, {self.nbytes / 1024:,.1f} KiB"
        return "\n".join([lines[0], rule, *lines[1:], rule, total])

    __repr__ = __str__


def summarize(module: "Module", inputs: Sequence[Any]) -> Summary:
    """The summary of ``module``; with ``inputs`` it is called on them once, in evaluation mode and without a graph."""
    outputs = _output_shapes(module, inputs) if inputs else {}
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
            )
        )
    parameters = list(module.parameters())
    return Summary(
        tuple(rows),
        sum(prod(parameter.shape) for parameter in parameters),
        sum(prod(parameter.shape) for parameter in parameters if parameter.requires_grad),
        sum(parameter.data.nbytes for parameter in parameters),
    )


def _output_shapes(module: "Module", inputs: Sequence[Any]) -> dict[int, str]:
    shapes: dict[int, str] = {}

    def record(part: Any, _: Any, output: Any) -> None:
        shapes[id(part)] = _shape_text(output)

    modes = [(part, part.training) for part in module.modules()]
    handles = [part.register_forward_hook(record) for part, _ in modes]
    try:
        module.eval()
        with no_grad():
            module(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for part, training in modes:
            part.training = training
    return shapes


def _shape_text(output: Any) -> str:
    if isinstance(output, Tensor):
        return str(output.shape)
    if isinstance(output, (list, tuple)):
        return ", ".join(_shape_text(item) for item in output)
    return type(output).__name__
