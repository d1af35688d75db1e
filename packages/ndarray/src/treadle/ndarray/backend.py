"""What a backend is: a small protocol with one method a family of ops.

A backend computes; it knows nothing of broadcasting, promotion or views. Before it is called, the dispatch has
checked the arguments, promoted the operands to one dtype (``where``'s condition apart), broadcast them to the shape
of ``out`` (as zero-stride views) and allocated ``out`` on the same device. Operands may have any strides, sizes may
be 0, and ``out`` overlaps an operand only if it is the very same view. A backend writes every element of ``out`` and
returns nothing.

The ``cpu`` device is not reached through this protocol: its kernels sit in C slot tables. Every other device is:
``numpy`` (:mod:`treadle.ndarray.numpy_backend`) and whatever distributions announce in the entry point group
``treadle.backends`` (name: device type, value: a callable that returns a :class:`Backend`).

The fused methods (:class:`FusedBackend`) are optional: where a backend lacks one, its composition of the others serves.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from treadle.ndarray import NDArray
    from treadle.ndarray.geometry import Geometry

__all__ = ["Allocation", "Backend", "FusedBackend"]


class Allocation(Protocol):
    """Memory of a device. It is released when the object is, so the array holds it."""

    @property
    def pointer(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


@runtime_checkable
class Backend(Protocol):
    """The required methods. ``index`` is the N of ``cuda:N``."""

    name: str
    """The device type, such as ``"cuda"``."""

    # dtypes: Collection[str], optional: the names of the dtypes that the backend has kernels for. Without it it has
    # all; with it, arrays of other dtypes are refused on its devices before any method is called.

    # checks_indices: bool, optional: whether gather and scatter check and wrap indices themselves, as the cpu's kernels
    # do. Without it they come checked.

    def device_count(self) -> int:
        """How many devices of this type there are; raises BackendError with the reason when there can be none."""
        ...

    def allocate(self, nbytes: int, index: int) -> Allocation:
        """Memory of at least ``nbytes`` (0 included), aligned to 64; MemoryError when there is none."""
        ...

    def synchronize(self, index: int) -> None:
        """Wait until the device has finished all work."""
        ...

    # movement ------------------------------------------------------------------------------------------------------
    def from_host(self, source: "NDArray", out: "NDArray") -> None:
        """Copy a cpu array to the device; both C-contiguous, of one shape and dtype."""
        ...

    def to_host(self, source: "NDArray", out: "NDArray") -> None:
        """Copy a device array to a cpu array; both C-contiguous, of one shape and dtype."""
        ...

    def copy(self, source: "NDArray", out: "NDArray") -> None:
        """``out[...] = source`` with conversion of the dtype (as C converts; to bool: non-zero; complex numbers
        become no others but bool)."""
        ...

    def fill(self, out: "NDArray", value: bool | int | float | complex) -> None:
        """Every element becomes ``value``, which the dispatch has made to fit the dtype."""
        ...

    def arange(self, out: "NDArray", start: int | float, step: int | float) -> None:
        """``out[i] = start + i * step``; out is 1-D; for floats computed in float64 and rounded once."""
        ...

    # arithmetic, by family of the op table -------------------------------------------------------------------------
    def unary(self, op: str, x: "NDArray", out: "NDArray") -> None: ...

    def binary(self, op: str, x: "NDArray", y: "NDArray", out: "NDArray") -> None: ...

    def ternary(self, op: str, x: "NDArray", y: "NDArray", z: "NDArray", out: "NDArray") -> None:
        """``where``: x is the bool condition. ``clip``: y and z are the bounds."""
        ...

    def reduce(self, op: str, x: "NDArray", axes: tuple[int, ...], out: "NDArray") -> None:
        """``axes`` are non-negative and sorted; ``out`` has x's rank, with 1 at the reduced axes. x has the promoted
        operand dtype, so ``sum`` of uint8 comes as uint8 with an ``out`` of uint64."""
        ...

    def arg_reduce(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None:
        """``out`` (int64) has x's rank, with 1 at ``axis``, which is not empty. The first NaN wins."""
        ...

    def scan(self, op: str, x: "NDArray", axis: int, out: "NDArray") -> None: ...

    def matmul(self, x: "NDArray", y: "NDArray", out: "NDArray") -> None:
        """(..., m, k) @ (..., k, n) -> (..., m, n) with equal batch shapes; k = 0 gives zeros."""
        ...

    # indexing ------------------------------------------------------------------------------------------------------
    def gather(self, x: "NDArray", indices: "tuple[NDArray, ...]", out: "NDArray") -> None:
        """``out[s..., r...] = x[i0[s...], ..., ik[s...], r...]``: the k index arrays (int64, one shape, checked to be
        in [0, x.shape[j])) select in x's first k axes."""
        ...

    def scatter(self, out: "NDArray", indices: "tuple[NDArray, ...]", values: "NDArray", accumulate: bool) -> None:
        """The reverse: ``out[i0[s...], ..., r...] = values[s..., r...]``, or ``+=`` with every repetition counted. Of
        repeated indices the last wins without ``accumulate``."""
        ...

    def nonzero(self, x: "NDArray") -> "NDArray":
        """The int64 indices, (n, x.ndim), of the non-zero elements of a bool array in C order."""
        ...

    # random numbers ------------------------------------------------------------------------------------------------
    def random(self, kind: str, key: int, counter: int, parameters: tuple[float | int, ...], out: "NDArray") -> None:
        """Fill ``out`` (C-contiguous) from the counter-based generator; ``include/treadle/random.h`` says which bits
        serve which element.

        ========= =============== ================================================
        kind      parameters      out
        ========= =============== ================================================
        bits                      uint32 or uint64: raw bits
        uniform   low, high       float32, float64: low + u * (high - low), rounded in out's dtype
        normal    mean, std       float32, float64: float64(mean + std * z), rounded once
        integers  low, range      int64: low + bounded(bits, range)
        bernoulli threshold       bool: bits32 < threshold, an integer of [0, 2^32]
        ========= =============== ================================================
        """
        ...


class FusedBackend(Protocol):
    """Optional methods: one kernel for what would be several. Looked up by ``getattr``."""

    def softmax(self, x: "NDArray", axis: int, out: "NDArray") -> None: ...

    def log_softmax(self, x: "NDArray", axis: int, out: "NDArray") -> None: ...

    def logsumexp(self, x: "NDArray", axis: int, out: "NDArray") -> None:
        """``out`` has x's rank, with 1 at ``axis``."""
        ...

    def variance(self, x: "NDArray", axes: tuple[int, ...], correction: float, out: "NDArray") -> None:
        """``out`` has x's rank, with 1 at the axes."""
        ...

    def conv(self, x: "NDArray", weight: "NDArray", geometry: "Geometry", groups: int, out: "NDArray") -> None:
        """:func:`treadle.ndarray.conv` without a bias; all of one dtype, layouts as there."""
        ...

    def conv_input_gradient(
        self, gradient: "NDArray", weight: "NDArray", geometry: "Geometry", groups: int, out: "NDArray"
    ) -> None: ...

    def conv_weight_gradient(
        self, gradient: "NDArray", x: "NDArray", geometry: "Geometry", groups: int, out: "NDArray"
    ) -> None: ...

    def check_range(self, numbers: "NDArray", stop: int, ignored: int | None, text: str) -> int | None:
        """An integer or bool that is neither in ``range(stop)`` nor ``ignored``, or None. A device that captures graphs
        may put the check off, and raise IndexingError with ``text`` later, where ``{}`` stands for the number."""
        ...

    # Of layers. Arrays are C-contiguous, not empty, of one floating dtype; statistics (mean, scale, and the sums that
    # parameters' gradients are) of float32 for halves and else of that dtype. A method that returns False has not
    # served, and the composition does.

    def activation_gradient(self, op: str, gradient: "NDArray", saved: "NDArray", out: "NDArray") -> bool | None:
        """gradient times the derivative of gelu or gelu_tanh at ``saved``, or of sigmoid, tanh or relu where ``saved``
        is its result. A zero gradient stays zero."""
        ...

    def max_pool(self, x: "NDArray", geometry: "Geometry", values: "NDArray", indices: "NDArray") -> bool | None:
        """:func:`treadle.ndarray.max_pool` over one to three axes."""
        ...

    def max_pool_gradient(self, gradient: "NDArray", indices: "NDArray", out: "NDArray") -> bool | None:
        """``out``, of the input's shape, becomes 0 with the gradients added where the indices say; -1 is nowhere. False
        where an index is beyond its plane."""
        ...

    def norm_rows(
        self,
        x: "NDArray",
        weight: "NDArray | None",
        bias: "NDArray | None",
        eps: float,
        out: "NDArray",
        mean: "NDArray | None",
        scale: "NDArray",
    ) -> bool | None:
        """Rows, as many as ``scale`` has elements: (x - mean) * scale * weight + bias, with scale 1 / sqrt(variance +
        eps). Without a mean none is taken off."""
        ...

    def norm_rows_gradient(
        self,
        gradient: "NDArray",
        x: "NDArray",
        mean: "NDArray | None",
        scale: "NDArray",
        weight: "NDArray | None",
        out: "NDArray | None",
        by_weight: "NDArray | None",
        by_bias: "NDArray | None",
    ) -> bool | None:
        """The gradients that have an array: of x into ``out``, of weight and bias as (parts, width), of which each row
        is the sum over a part of the rows."""
        ...

    def norm_channels(
        self,
        x: "NDArray",
        mean: "NDArray",
        scale: "NDArray",
        weight: "NDArray | None",
        bias: "NDArray | None",
        out: "NDArray",
    ) -> bool | None:
        """(x - mean) * scale * weight + bias of (batch, channels, ...), each a number a channel."""
        ...

    def norm_channels_gradient(
        self,
        gradient: "NDArray",
        x: "NDArray",
        mean: "NDArray",
        scale: "NDArray",
        weight: "NDArray | None",
        out: "NDArray | None",
        by_weight: "NDArray | None",
        by_bias: "NDArray | None",
    ) -> bool | None:
        """The gradients that have an array, mean and scale being those of x; of weight and bias a number a channel."""
        ...

    def lstm_step(
        self,
        product: "NDArray",
        given: "NDArray",
        before: "NDArray",
        gates: "NDArray",
        cell: "NDArray",
        shown: "NDArray",
        hidden: "NDArray",
    ) -> bool | None:
        """From the two parts of the gates i, f, g, o, (batch, 4 * size), and the cell before into the gates (sigmoid,
        but tanh of g), cell = f * before + i * g, shown = tanh(cell) and hidden = o * shown."""
        ...

    def lstm_step_gradient(
        self,
        gates: "NDArray",
        before: "NDArray",
        shown: "NDArray",
        d_shown: "NDArray",
        d_cell: "NDArray",
        d_gates: "NDArray",
    ) -> bool | None:
        """The gradients of the gates' parts into ``d_gates``, and of the cell before into ``d_cell``, which held that
        of the cell; ``d_shown`` is that of the hidden state."""
        ...

    def entropy(
        self, logits: "NDArray", targets: "NDArray", ignored: int, smoothing: float, out: "NDArray"
    ) -> bool | None:
        """The cross-entropy of each row of (rows, classes) with int64 class indices, 0 where the target is the ignored
        one. False where a target is no class."""
        ...

    def entropy_gradient(
        self, logits: "NDArray", targets: "NDArray", ignored: int, smoothing: float, scale: "NDArray", out: "NDArray"
    ) -> bool | None:
        """scale, a number or one a row, times (softmax - the target's distribution)."""
        ...

    def attention(
        self,
        query: "NDArray",
        key: "NDArray",
        value: "NDArray",
        mask: "NDArray | None",
        causal: bool,
        past: int,
        scale: float,
        out: "NDArray",
        logsumexp: "NDArray",
    ) -> bool:
        """:func:`treadle.ndarray.attention.attention` of operands with one batch shape and floating dtype, which are
        not empty; the mask, bool or of logsumexp's dtype, has the scores' shape. All are views of any strides, zeros
        included; ``past`` lies from -queries to keys. False, and nothing is written, where the composition has to
        serve."""
        ...

    def attention_gradient(
        self,
        gradient: "NDArray",
        query: "NDArray",
        key: "NDArray",
        value: "NDArray",
        mask: "NDArray | None",
        causal: bool,
        past: int,
        scale: float,
        out: "NDArray",
        logsumexp: "NDArray",
        by_query: "NDArray",
        by_key: "NDArray",
        by_value: "NDArray",
    ) -> bool:
        """The gradients of query, key and value into the last three, which have their shapes; False as above."""
        ...

    def adam_step(
        self,
        parameter: "NDArray",
        gradient: "NDArray",
        first: "NDArray",
        second: "NDArray",
        hyper: tuple[float, ...],
    ) -> None:
        """In place, all C-contiguous, of one floating dtype. ``hyper``: lr, beta1, beta2, eps, weight_decay, decoupled
        (0 or 1), 1 - beta1^t, 1 - beta2^t, sign (1, or -1 to maximize)."""
        ...

    def sgd_step(
        self, parameter: "NDArray", gradient: "NDArray", momentum_buffer: "NDArray | None", hyper: tuple[float, ...]
    ) -> None:
        """In place. ``hyper``: lr, momentum, dampening (1 - dampening is applied), weight_decay, nesterov (0 or 1),
        first step (0 or 1: the buffer becomes the gradient), sign (1, or -1 to maximize)."""
        ...

    def sort(
        self,
        x: "NDArray",
        axis: int,
        descending: bool,
        stable: bool,
        values: "NDArray | None",
        places: "NDArray | None",
    ) -> None:
        """The elements of x in order along ``axis`` into ``values``, the int64 places they came from into ``places``;
        one of the two may be None. NaN comes last in both directions, and 0.0 and -0.0 are equal. Stable: equal
        elements keep their order, in both directions. Without this method a device's arrays are sorted on the host."""
        ...
