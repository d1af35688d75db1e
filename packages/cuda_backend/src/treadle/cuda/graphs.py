"""Graphs: a step's work, recorded once and replayed as a whole, without Python and without a launch for each kernel.

What is recorded is the work on the device, with the addresses that it reads and writes. A replay reads what is in these
places then, and writes its results to the same arrays again. Two things move on with the replays: the numbers of
``nd.random.default_generator``, and the corrections of Adam's averages, which ``nd.adam_step`` takes. Everything else
of the step is a constant: Python's decisions, shapes, numbers such as a learning rate, and bytes from the host.

Source: CUDA C++ Programming Guide, "CUDA Graphs".
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from treadle.cuda.devices import device_of
from treadle.cuda.errors import CaptureError
from treadle.ndarray import NDArray
from treadle.ndarray.errors import BackendError, DeviceError, DTypeError, ShapeError

if TYPE_CHECKING:
    from treadle.cuda._cuda import GraphHandle
    from treadle.ndarray import Device

__all__ = ["Captured", "Graph", "capture"]

Result = TypeVar("Result")


class Graph:
    """Work of one device, captured in a ``with graph.capture():`` block and put on a stream again by :meth:`replay`.

    Nothing is computed during the capture, so in it no element can come to the host (``item``, ``numpy``, a condition
    on an array, ``nonzero``), and nothing can be drawn from a generator but the default one: CaptureError, and the
    capture is void. Index arrays and class numbers are checked by the replay: out of bounds nothing is read or written,
    and the next replay, synchronization or copy to the host raises IndexingError. Arrays of the outside that the work
    reads are kept alive, and so is the memory of those made inside, which every replay writes to again.

    Run the step once before its capture, so that what it makes only at first (momenta, gradients) is there.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> x = nd.zeros(3, device="cuda_emulated")
    >>> graph = treadle.cuda.Graph("cuda_emulated")
    >>> with graph.capture():
    ...     x += 1.0
    ...     y = x * 2.0
    >>> for _ in range(3):
    ...     graph.replay()
    >>> x.tolist(), y.tolist()
    ([3.0, 3.0, 3.0], [6.0, 6.0, 6.0])
    """

    def __init__(self, device: "str | Device" = "cuda") -> None:
        self._kernels, self.device = device_of(device)
        self._handle: GraphHandle | None = None

    @contextmanager
    def capture(self) -> Iterator["Graph"]:
        """Record what this thread puts on the device, instead of doing it. A graph is captured once."""
        if self._handle is not None:
            raise CaptureError("capture: this graph has been captured; make another one")
        handle = self._kernels.graph(self.device.index)
        handle.begin()
        try:
            yield self
        except BaseException:
            with suppress(BackendError):  # of a capture that is void anyway
                handle.end(False)
            raise
        handle.end(True)
        self._handle = handle

    def replay(self) -> None:
        """Put the recorded work on the device's current stream. It does not wait for it."""
        if self._handle is None:
            raise CaptureError("replay: nothing was captured; use `with graph.capture():` first")
        self._handle.replay()

    @property
    def nodes(self) -> int:
        """How many kernels, copies and other steps were recorded."""
        return 0 if self._handle is None else self._handle.nodes

    def __repr__(self) -> str:
        return f"Graph({str(self.device)!r}, nodes={self.nodes})"


class Captured(Generic[Result]):
    """A function whose work is a graph; :func:`capture` makes it."""

    def __init__(self, graph: Graph, inputs: tuple[NDArray, ...], result: Result) -> None:
        self.graph = graph
        self.inputs = inputs
        self.result = result

    def __call__(self, *inputs: NDArray) -> Result:
        """Copy new inputs over those of the capture, replay, and give the captured result, with new elements."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"captured: {len(inputs)} inputs, and {len(self.inputs)} were captured")
        for number, (given, kept) in enumerate(zip(inputs, self.inputs, strict=True)):
            if given.shape != kept.shape:
                raise ShapeError(f"captured: input {number} has shape {given.shape}, captured was {kept.shape}")
            if given.dtype is not kept.dtype:
                raise DTypeError(f"captured: input {number} is {given.dtype.name}, captured was {kept.dtype.name}")
        for given, kept in zip(inputs, self.inputs, strict=True):
            if given is not kept:
                kept[...] = given if given.device is kept.device else given.to_device(kept.device)
        self.graph.replay()
        return self.result


def capture(function: Callable[..., Result], *inputs: NDArray) -> Captured[Result]:
    """Run a function of arrays once, capture it as a :class:`Graph`, and give what replays it.

    The inputs lie on one device; calls of the result copy theirs to them. Its results are arrays (or whatever the
    function gives) whose elements change with every call: ``copy()`` what is to stay. The first run is a real one: a
    training step has made one step when this returns. Raises CaptureError when the function does what a graph cannot.

    >>> import treadle.cuda, treadle.ndarray as nd
    >>> double = treadle.cuda.capture(lambda x: x * 2.0, nd.ones(2, device="cuda_emulated"))
    >>> double(nd.asarray([3.0, 4.0])).tolist()
    [6.0, 8.0]
    """
    for number, each in enumerate(inputs):
        if not isinstance(each, NDArray):
            raise DTypeError(
                f"capture: input {number} is a {type(each).__name__}, not an NDArray; of a tensor pass .data"
            )
    places = {each.device for each in inputs}
    if len(places) != 1:
        raise DeviceError(f"capture: inputs on one device are needed, and they are on {sorted(map(str, places))}")
    kept = tuple(each.copy() for each in inputs)
    function(*kept)
    graph = Graph(places.pop())
    with graph.capture():
        result = function(*kept)
    return Captured(graph, kept, result)
