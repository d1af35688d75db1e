"""What an exported program costs, told before it is compiled."""

from dataclasses import dataclass
from pathlib import Path

from treadle.autograd.export.quantizing import QuantizationReport

__all__ = ["ExportReport"]


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1024:,.1f} KiB"


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The files that were written, and their cost: bytes of flash and RAM, and multiply-accumulates of a run.

    ``flash`` counts the weights and tables and not the code, of which ``code`` is an upper bound, without ``math.h``;
    ``ram`` the arena and, for training, what is learned and kept; not the stack, nor the caller's inputs and outputs.
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

    def fits(self, ram: int | None = None, flash: int | None = None) -> bool:
        """Whether it fits in so many bytes of each, the code at its bound; None is no limit."""
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
        return (
            f"{self.source}: {self.steps} steps, {self.multiply_accumulates:,} multiply-accumulates a run; "
            f"flash {_size(self.flash)} of constants and at most {_size(self.code)} of code, RAM {_size(self.ram)}"
        )
