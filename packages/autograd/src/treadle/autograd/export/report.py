"""What an exported program costs, told before it is compiled, and what quantising it loses."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ExportReport", "LayerError", "QuantizationReport"]


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1024:,.1f} KiB"


@dataclass(frozen=True, slots=True)
class LayerError:
    """How far a quantised value is from its float original over the calibration data."""

    label: str
    shape: tuple[int, ...]
    scale: float
    zero: int
    largest: float
    decibels: float  # signal to quantisation noise


@dataclass(frozen=True, slots=True)
class QuantizationReport:
    """A row for each quantised value, in program order."""

    layers: tuple[LayerError, ...]

    def __str__(self) -> str:
        head = f"{'layer':32}  {'shape':16}  {'scale':>10}  {'zero':>5}  {'largest error':>13}  {'SQNR dB':>8}"
        rows = [
            f"{each.label[:32]:32}  {each.shape!s:16}  {each.scale:10.3g}  {each.zero:5}  {each.largest:13.3g}  "
            f"{each.decibels:8.1f}"
            for each in self.layers
        ]
        return "\n".join([head, *rows])


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The files that were written, and their cost: bytes of flash and RAM, and multiply-accumulates of a run.

    ``flash`` counts the weights and tables, also where they are in the binary ``weights``, and not the code. ``code``,
    without ``math.h``, is an upper bound, or if ``measured`` what the device's compiler makes; ``ram`` the arena and,
    for training, what is learned and kept; not the stack, nor the caller's inputs and outputs.
    ``quantization`` has a row of errors a layer.
    """

    source: Path
    header: Path
    flash: int
    ram: int
    multiply_accumulates: int
    steps: int
    quantization: QuantizationReport | None = None
    code: int = 0
    measured: bool = False
    weights: Path | None = None

    def fits(self, ram: int | None = None, flash: int | None = None) -> bool:
        """Whether it fits in so many bytes of each, the code at its bound unless measured; None is no limit."""
        return (ram is None or self.ram <= ram) and (flash is None or self.flash + self.code <= flash)

    def verdict(self, ram: int | None = None, flash: int | None = None) -> str:
        """The same in words, of the limits that are given.

        >>> from pathlib import Path
        >>> from treadle.autograd.export import ExportReport
        >>> report = ExportReport(Path("m.c"), Path("m.h"), 40_000, 2_000, 9_000, 3)
        >>> report.verdict(ram=320 * 1024, flash=1024 * 1024)
        'fits in 320.0 KiB RAM / 1,024.0 KiB flash: yes'
        >>> report.verdict(flash=32 * 1024)
        'fits in 32.0 KiB flash: no'
        """
        limits = [f"{_size(each)} {name}" for each, name in ((ram, "RAM"), (flash, "flash")) if each is not None]
        return f"fits in {' / '.join(limits) or 'any memory'}: {'yes' if self.fits(ram, flash) else 'no'}"

    def __str__(self) -> str:
        bound = "" if self.measured else "at most "
        return (
            f"{self.source}: {self.steps} steps, {self.multiply_accumulates:,} multiply-accumulates a run; "
            f"flash {_size(self.flash)} of constants and {bound}{_size(self.code)} of code, RAM {_size(self.ram)}"
        )
