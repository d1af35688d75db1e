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

    ``flash`` counts the weights and tables and not the code; ``ram`` the arena and, for training, what is learned and
    kept; not the stack, nor the caller's inputs and outputs. ``quantization`` has a row of errors a layer.
    """

    source: Path
    header: Path
    flash: int
    ram: int
    multiply_accumulates: int
    steps: int
    quantization: QuantizationReport | None = None

    def fits(self, ram: int, flash: int) -> bool:
        """Whether it fits in so many bytes of each."""
        return self.ram <= ram and self.flash <= flash

    def verdict(self, ram: int, flash: int) -> str:
        """The same in words.

                >>> from pathlib import Path

        from treadle.autograd.export.quantizing import QuantizationReport
                >>> report = ExportReport(Path("m.c"), Path("m.h"), 40_000, 2_000, 9_000, 3)
                >>> report.verdict(ram=320 * 1024, flash=1024 * 1024)
                'fits in 320.0 KiB RAM / 1,024.0 KiB flash: yes'
        """
        answer = "yes" if self.fits(ram, flash) else "no"
        return f"fits in {_size(ram)} RAM / {_size(flash)} flash: {answer}"

    def __str__(self) -> str:
        return (
            f"{self.source}: {self.steps} steps, {self.multiply_accumulates:,} multiply-accumulates a run; "
            f"flash {_size(self.flash)} of constants, RAM {_size(self.ram)}"
        )
