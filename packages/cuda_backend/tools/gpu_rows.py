"""What ``gpu_timings.py`` times: the calls of each kernel family, and PyTorch's on the same numbers."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import treadle.cuda
import treadle.ndarray as nd
from treadle.ndarray import _layers
from treadle.ndarray.attention import attention, attention_gradient

PRODUCTS = (
    ("matmul", "float32", 4096, 0.9),
    ("matmul", "float64", 2048, 0.5),
    ("matmul", "complex64", 2048, 0.5),
    ("matmul_wgmma", "bfloat16", 8192, 0.75),
    ("matmul_wgmma", "bfloat16 TT", 8192, 0.75),
    ("matmul_wgmma", "float16", 8192, 0.75),
    ("matmul_wgmma", "float16", 1024, 0.75),
    ("matmul_wgmma", "tf32", 8192, 0.75),
    ("matmul_mma", "bfloat16", 8192, 0.5),
    ("matmul_mma", "tf32", 8192, 0.75),
)
"""Family, dtype, size, and the speed that is wanted, of PyTorch's. TT: both operands transposed. Where the device has
no wgmma, or the check has found it wrong, matmul_mma serves the rows of both."""


@dataclass
class Row:
    """One thing to time. ``goal`` is a speed relative to ``against``."""

    family: str
    name: str
    ours: Callable[[], Any]
    torch: Callable[[], Any] | None
    nbytes: int = 0
    flops: float = 0.0
    goal: float = 1.0
    against: str = "torch"


class Arrays:
    """The same random elements for both libraries."""

    def __init__(self, device: str, torch: Any) -> None:
        self.device, self.torch = device, torch
        self.torch_device = "cuda" if device == "cuda" else "cpu"
        self.generator = np.random.default_rng(0)
        self.numbers = np.empty(0, np.float32)

    def host(self, *shape: int) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """Normal numbers, drawn once for the largest array and shared by all; beginning somewhere else each time."""
        size = math.prod(shape)
        if self.numbers.size < size + 64:
            self.numbers = self.generator.standard_normal(size + 64, dtype=np.float32)
        first = int(self.generator.integers(64))
        return self.numbers[first : first + size].reshape(shape)

    def pair(self, *shape: int, dtype: str = "float32") -> tuple[nd.NDArray, Any]:
        host = self.host(*shape)
        ours = nd.asarray(host, device=self.device)
        ours = ours if dtype == "float32" else nd.asarray(nd.asarray(host).astype(dtype), device=self.device)
        if self.torch is None:
            return ours, None
        return ours, self.torch.from_numpy(host).to(self.torch_device, getattr(self.torch, dtype))

    def whole(self, high: int, n: int) -> tuple[nd.NDArray, Any]:
        host = self.generator.integers(0, high, n)
        theirs = None if self.torch is None else self.torch.from_numpy(host).to(self.torch_device)
        return nd.asarray(host, device=self.device), theirs


def memory_rows(arrays: Arrays, n: int) -> list[Row]:
    """What the bandwidth of the memory bounds: bytes read and written are counted."""
    (x, tx), (y, ty) = arrays.pair(n), arrays.pair(n)
    (square, tsquare) = arrays.pair(int(n**0.5), int(n**0.5))
    index, tindex = arrays.whole(n // 64, n // 64)
    rows = x[: n // 64 * 64].reshape(n // 64, 64)
    trows: Any = None if tx is None else tx[: n // 64 * 64].view(-1, 64)
    torch = arrays.torch
    word = 4
    bound = {"goal": 0.9, "against": "copy"}
    found = [
        Row("unary", "exp", lambda: nd.exp(x), lambda: torch.exp(tx), 2 * n * word, **bound),  # type: ignore[arg-type]
        Row("binary", "add", lambda: x + y, lambda: tx + ty, 3 * n * word, **bound),  # type: ignore[arg-type]
        Row("ternary", "where", lambda: nd.where(x > y, x, y), lambda: torch.where(tx > ty, tx, ty), 6 * n * word),
        Row("copy", "transpose", lambda: square.T.copy(), lambda: tsquare.T.contiguous(), 2 * square.nbytes),
        Row("reduce", "sum", lambda: nd.sum(x), lambda: torch.sum(tx), n * word, **bound),  # type: ignore[arg-type]
        Row(
            "reduce",
            "sum rows",
            lambda: nd.sum(square, axis=1),
            lambda: tsquare.sum(1),
            square.nbytes,
            0.0,
            0.9,
            "copy",
        ),
        Row(
            "reduce",
            "sum columns",
            lambda: nd.sum(square, axis=0),
            lambda: tsquare.sum(0),
            square.nbytes,
            0.0,
            0.9,
            "copy",
        ),
        Row("arg_reduce", "argmax", lambda: nd.argmax(x), lambda: torch.argmax(tx), n * word),
        Row("scan", "cumsum rows", lambda: nd.cumsum(square, axis=1), lambda: tsquare.cumsum(1), 2 * square.nbytes),
        Row("softmax", "softmax", lambda: nd.softmax(square), lambda: torch.softmax(tsquare, -1), 2 * square.nbytes),
        Row("indexing", "gather rows", lambda: nd.take(rows, index, axis=0), lambda: trows[tindex], 2 * rows.nbytes),
        Row("nonzero", "nonzero", lambda: nd.nonzero(x > 0), lambda: torch.nonzero(tx > 0)),
        Row("sort", "sort", lambda: nd.sort(x), lambda: torch.sort(tx)),
        Row(
            "random", "normal", lambda: nd.random.normal(shape=(n,), device=arrays.device), lambda: torch.randn_like(tx)
        ),
    ]
    return found


def more_memory_rows(arrays: Arrays, n: int) -> list[Row]:
    """Halves, conversions, moments, sums by index, an optimizer: bound by the memory too."""
    torch, word = arrays.torch, 4
    (x, tx), (half, thalf) = arrays.pair(n), arrays.pair(n, dtype="bfloat16")
    square, tsquare = arrays.pair(int(n**0.5), int(n**0.5))
    index, tindex = arrays.whole(n // 256, n // 64)
    rows, target = x[: n // 64 * 64].reshape(n // 64, 64), nd.zeros((n // 256, 64), device=arrays.device)
    trows: Any = None if tx is None else tx[: n // 64 * 64].view(-1, 64)
    ttarget: Any = None if tx is None else tx.new_zeros(n // 256, 64)
    state = [nd.zeros(n, device=arrays.device) for _ in range(2)]
    adam: Any = None
    if tx is not None:
        parameter = torch.nn.Parameter(tx.clone())
        parameter.grad = tx
        adam = torch.optim.Adam([parameter], fused=arrays.device == "cuda").step
    return [
        Row(
            "unary", "exp bfloat16", lambda: nd.exp(half), lambda: torch.exp(thalf), n * word, goal=0.9, against="copy"
        ),
        Row("copy", "to bfloat16", lambda: x.astype("bfloat16"), lambda: tx.to(torch.bfloat16), n * word * 3 // 2),
        Row("reduce", "variance rows", lambda: nd.var(square, axis=1), lambda: tsquare.var(1), square.nbytes),
        Row("softmax", "logsumexp", lambda: nd.logsumexp(square, axis=1), lambda: tsquare.logsumexp(1), square.nbytes),
        Row(
            "indexing",
            "scatter_add rows",
            lambda: nd.scatter_add(target, index, rows),
            lambda: ttarget.index_add(0, tindex, trows),
            rows.nbytes,
        ),
        Row("optimizer", "adam", lambda: nd.adam_step(x, x, *state, lr=1e-9, step=1), adam, 7 * n * word),
    ]


def conv_rows(arrays: Arrays, quick: bool) -> list[Row]:
    """A convolution of 3 x 3 and its two gradients; multiplications and additions are counted."""
    batch, channels, side = (2, 4, 6) if quick else (32, 64, 56)
    (x, tx), (weight, tweight) = arrays.pair(batch, channels, side, side), arrays.pair(channels, channels, 3, 3)
    flops = 2.0 * batch * side**2 * channels**2 * 9
    theirs: list[Callable[[], Any] | None] = [None] * 3
    if arrays.torch is not None:
        conv, gradients = arrays.torch.nn.functional.conv2d, arrays.torch.nn.grad
        theirs = [
            lambda: conv(tx, tweight, padding=1),
            lambda: gradients.conv2d_input(tx.shape, tweight, tx, padding=1),
            lambda: gradients.conv2d_weight(tx, tweight.shape, tx, padding=1),
        ]
    ours = (
        lambda: nd.conv(x, weight, padding=1),
        lambda: nd.conv_input_gradient(x, weight, x.shape, padding=1),
        lambda: nd.conv_weight_gradient(x, x, weight.shape, padding=1),
    )
    names = ("forward", "input gradient", "weight gradient")
    return [
        Row("conv", name, mine, their, 0, flops, 0.5) for name, mine, their in zip(names, ours, theirs, strict=True)
    ]


def attention_rows(arrays: Arrays, quick: bool) -> list[Row]:
    """Causal attention and its gradient: the products are counted in full, though half of the scores are not needed."""
    shape = (1, 2, 20, 16) if quick else (8, 16, 1024, 64)
    torch, found = arrays.torch, []
    for kind, suffix in (("float32", ""), ("bfloat16", "_mma")):
        (q, tq), (k, tk), (v, tv) = (arrays.pair(*shape, dtype=kind) for _ in range(3))
        made = attention(q, k, v, causal=True)
        theirs: list[Callable[[], Any] | None] = [None] * 2
        if torch is not None:
            leaves = [each.requires_grad_() for each in (tq, tk, tv)]
            attend = partial(torch.nn.functional.scaled_dot_product_attention, *leaves, is_causal=True)
            theirs = [attend, partial(torch.autograd.grad, attend(), leaves, tv.detach(), retain_graph=True)]
        flops = 4.0 * math.prod(shape) * shape[2]
        forward = partial(attention, q, k, v, causal=True)
        gradient = partial(attention_gradient, v, q, k, v, *made, causal=True)
        found.append(Row(f"attention{suffix}", kind, forward, theirs[0], 0, flops))
        found.append(Row(f"attention{suffix}_gradient", kind, gradient, theirs[1], 0, 2.5 * flops))
    return found


def layer_rows(arrays: Arrays, n: int) -> list[Row]:
    """Layers in one pass: bytes read and written are counted."""
    torch, side = arrays.torch, int(n**0.5)
    (x, tx), (labels, tlabels) = arrays.pair(side, side), arrays.whole(side, side)
    image = x[: side // 8 * 8].reshape(1, -1, 8, side)
    gates, cell = x[:, : side // 4 * 4].copy(), x[:, : side // 4].copy()
    kept = [nd.empty_like(gates), *(nd.empty_like(cell) for _ in range(3))]
    theirs: dict[str, Callable[[], Any]] = {}
    if torch is not None:
        functional, timage = torch.nn.functional, tx[: side // 8 * 8].reshape(1, -1, 8, side)
        theirs = {
            "norm": lambda: functional.layer_norm(tx, (side,)),
            "entropy": lambda: functional.cross_entropy(tx, tlabels, reduction="none"),
            "pool": lambda: functional.max_pool2d(timage, 2),
            "gelu": lambda: torch.ops.aten.gelu_backward(tx, tx),
        }
    ours: dict[str, tuple[str, Callable[[], Any], int]] = {
        "norm": ("layers_norm", lambda: _layers.norm_rows(x, side, True, 1e-5, None, None), 2),
        "entropy": ("layers_entropy", lambda: _layers.entropy("loss", x, labels, -100, 0.0), 1),
        "lstm step": ("layers_lstm", lambda: _layers.lstm_step(gates, gates, cell, *kept), 4),
        "pool": ("layers_pool", lambda: nd.max_pool(image, 2, stride=2), 1),
        "gelu": ("layers_gradients", lambda: _layers.activation_gradient("gelu", x, x), 3),
    }
    return [
        Row(family, name, call, theirs.get(name), passes * x.nbytes) for name, (family, call, passes) in ours.items()
    ]


def matrix_rows(arrays: Arrays, quick: bool) -> list[Row]:
    """Matrix products, of which multiplications and additions are counted."""
    found = []
    for family, kind, n, goal in PRODUCTS:
        size, dtype = 96 if quick else n, "float32" if kind == "tf32" else kind.partition(" ")[0]
        (x, tx), (y, ty) = arrays.pair(size, size, dtype=dtype), arrays.pair(size, size, dtype=dtype)
        if kind.endswith("TT"):
            x, y, tx, ty = x.T, y.T, tx if tx is None else tx.T, ty if ty is None else ty.T
        ours, theirs = product(x, y), product(tx, ty)
        if family == "matmul_mma":
            ours = without_wgmma(arrays, ours)
        if kind == "tf32":
            ours, theirs = with_tf32(arrays, ours, theirs)
        flops = (8.0 if kind == "complex64" else 2.0) * size**3
        found.append(Row(family, f"{kind} {size}", ours, theirs, 0, flops, goal))
    return found


def product(x: Any, y: Any) -> Callable[[], Any]:
    return lambda: x @ y


def with_tf32(
    arrays: Arrays, ours: Callable[[], Any], theirs: Callable[[], Any]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Both products where TF32 is allowed for their time."""

    def here() -> None:
        before = treadle.cuda.allow_tf32(True, arrays.device)
        ours()
        treadle.cuda.allow_tf32(before, arrays.device)

    def there() -> None:
        arrays.torch.backends.cuda.matmul.allow_tf32 = True
        theirs()
        arrays.torch.backends.cuda.matmul.allow_tf32 = False

    return here, there


def without_wgmma(arrays: Arrays, ours: Callable[[], Any]) -> Callable[[], Any]:
    backend = treadle.cuda.backend() if arrays.device == "cuda" else treadle.cuda.emulated_backend()

    def call() -> None:
        before = backend.allow_wgmma(False)
        ours()
        backend.allow_wgmma(before)

    return call


def training_rows(arrays: Arrays, quick: bool) -> list[Row]:
    """A step of a small perceptron: captured here, eager in PyTorch."""
    try:
        from treadle import autograd, nn, optim
    except ImportError:
        return []
    batch = 8 if quick else 64
    (x, tx), (y, ty) = arrays.pair(batch, 64), arrays.pair(batch, 10)
    with nd.use_device(arrays.device):
        model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.01)

    def step(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(autograd.Tensor(x)), autograd.Tensor(y))
        loss.backward()
        optimizer.step()
        return loss.data

    captured = treadle.cuda.capture(step, x, y)
    theirs = None
    if arrays.torch is not None:
        layers = arrays.torch.nn
        peer = layers.Sequential(layers.Linear(64, 128), layers.ReLU(), layers.Linear(128, 10)).to(arrays.torch_device)
        peer_optimizer = arrays.torch.optim.SGD(peer.parameters(), lr=0.01)

        def theirs() -> None:
            peer_optimizer.zero_grad()
            layers.functional.mse_loss(peer(tx), ty).backward()
            peer_optimizer.step()

    return [
        Row("graphs", "MLP step, captured", captured.graph.replay, theirs, goal=2.0),
        Row("training", "MLP step, eager", lambda: step(x, y), theirs),
    ]
