"""Logs for TensorBoard, written without it: the files are records of protocol buffers.

A record is its length (64 bits), the masked CRC-32C of the length, the content, and the content's masked CRC-32C, all
little-endian (TensorFlow, ``core/lib/io/record_writer.h``). The content is an ``Event`` (``core/util/event.proto``):
field 1 the time as a double, 2 the step, 3 the version, 5 a ``Summary``, whose values (field 1) have a tag (field 1)
and a simple_value (field 2, float). G. Castagnoli et al. 1993 for the polynomial.
"""

import math
import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treadle.nn.callbacks import Callback

if TYPE_CHECKING:
    from treadle.nn.trainer import Trainer

__all__ = ["EventFile", "TensorBoardLogger"]

_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reversed


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def _masked_crc(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", math.copysign(math.inf, value))


def _field(number: int, content: bytes) -> bytes:
    """A field of a message, a string or a submessage."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


class EventFile:
    """A file of scalars by tag and step; ``folder`` is made, and what is in it stays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with EventFile(folder) as events:
    ...         events.write({"loss": 0.5}, step=1)
    ...     len(list(Path(folder).iterdir()))
    1
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        now = time.time()
        self.path = place / f"events.out.tfevents.{now:017.6f}.{os.getpid()}.treadle"
        self._file = open(self.path, "xb")  # noqa: SIM115 it is written to for long
        self._record(struct.pack("<Bd", 1 << 3 | 1, now) + _field(3, b"brain.Event:2"))

    def write(self, values: Mapping[str, float], step: int) -> None:
        """Write numbers under their tags; they are in the file when this returns.

        A number that a float cannot hold becomes infinite. ValueError for a negative step.
        """
        if step < 0:
            raise ValueError(f"step must be 0 or more, not {step}")
        entries = [
            _field(1, tag.encode()) + struct.pack("<B", 2 << 3 | 5) + _float(value) for tag, value in values.items()
        ]
        summary = b"".join(_field(1, entry) for entry in entries)
        event = struct.pack("<Bd", 1 << 3 | 1, time.time()) + bytes([2 << 3]) + _varint(step) + _field(5, summary)
        self._record(event)

    def _record(self, content: bytes) -> None:
        length = struct.pack("<Q", len(content))
        checks = [struct.pack("<I", _masked_crc(part)) for part in (length, content)]
        self._file.write(length + checks[0] + content + checks[1])
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> "EventFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class TensorBoardLogger(Callback):
    """Writes each row of the history for TensorBoard, by epoch: ``tensorboard --logdir folder`` shows it.

    >>> TensorBoardLogger("runs/digits/board").folder.name
    'board'
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._events: EventFile | None = None

    def on_fit_start(self, trainer: "Trainer") -> None:
        self.on_fit_end(trainer)  # that of a fit which ended by an error
        self._events = EventFile(self.folder)

    def on_epoch_end(self, trainer: "Trainer", row: Mapping[str, float]) -> None:
        if self._events is not None:
            values = {name: value for name, value in row.items() if name != "epoch"}
            self._events.write(values, step=int(row["epoch"]))

    def on_fit_end(self, trainer: "Trainer") -> None:
        if self._events is not None:
            self._events.close()
            self._events = None
