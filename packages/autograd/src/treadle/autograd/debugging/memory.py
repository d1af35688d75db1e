"""Which lines of the program the living tensors come from."""

from collections import Counter
from dataclasses import dataclass
from weakref import WeakSet

from treadle.autograd._location import Location, locate, position
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._watching import Watcher

__all__ = ["LiveLine", "track_memory"]


@dataclass(frozen=True, slots=True)
class LiveLine:
    """The living results that one line of the program made: how many, and the bytes they hold."""

    location: Location | None
    count: int
    nbytes: int

    def __str__(self) -> str:
        where = "?" if self.location is None else self.location.short
        text = self.location.text if self.location else ""
        return f"{self.count:7,}  {self.nbytes:14,} B  {where}  {text}"


class track_memory(Watcher):
    """Note, in a ``with`` block, every op result of this thread and the line that made it; tell which still live.

    Tensors are only referred to weakly. Bytes are counted once for each buffer, at the line of its first view.

    >>> import treadle.autograd as ag
    >>> kept = []
    >>> with ag.track_memory() as memory:
    ...     for _ in range(3):
    ...         kept.append(ag.ones(1000) * 2.0)
    >>> [(line.count, line.nbytes) for line in memory.live()]
    [(3, 12000)]
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: WeakSet[Tensor] = WeakSet()
        self._places: dict[int, object] = {}

    def on_made(self, tensor: Tensor, op: Op, inputs: tuple[Tensor, ...]) -> None:
        """Note a result."""
        self._made.add(tensor)
        self._places[id(tensor)] = position()

    def live(self) -> list[LiveLine]:
        """The lines whose results still live, most bytes first."""
        counts: Counter[object] = Counter()
        sizes: Counter[object] = Counter()
        seen: set[int] = set()
        for tensor in self._made:
            place = self._places.get(id(tensor))
            counts[place] += 1
            buffer = tensor.data.buffer
            if id(buffer) not in seen:
                seen.add(id(buffer))
                sizes[place] += buffer.nbytes
        by_line: dict[Location | None, tuple[int, int]] = {}
        for place, count in counts.items():
            where = locate(place)  # type: ignore[arg-type]
            before = by_line.get(where, (0, 0))
            by_line[where] = (before[0] + count, before[1] + sizes[place])
        lines = [LiveLine(where, count, nbytes) for where, (count, nbytes) in by_line.items()]
        return sorted(lines, key=lambda line: (-line.nbytes, -line.count))

    def __str__(self) -> str:
        lines = [str(line) for line in self.live()]
        return "\n".join([f"{'tensors':>7}  {'bytes':>16}  made at", *lines])
