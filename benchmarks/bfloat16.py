"""What bfloat16 saves: peak memory of training steps in float32 and bfloat16, and what it costs in accuracy.

    python -m benchmarks.bfloat16

Weights and activations are stored in bfloat16; every sum is taken in float32, and so is the optimizer's state. Memory
is the peak of the arrays in use (``nd.memory_statistics``) over three steps, weights and optimizer included. With
``masters`` the optimizer holds a copy of the weights in float32 (Micikevicius et al. 2018, "Mixed precision training",
section 3.1).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import DataLoader, Digits
from treadle.nn import functional
from treadle.optim import Adam

__all__ = ["accuracy", "main", "masters", "peak"]

MIB = float(1 << 20)


class Classifier(nn.Module):
    """A model of sequences, and a linear map of each place to ten classes."""

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body, self.head = body, nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, steps, features) gives (batch * steps, 10)."""
        found = self.body(x)
        found = found[0] if isinstance(found, tuple) else found
        return self.head(found).reshape(-1, 10)  # type: ignore[no-any-return]


def perceptron() -> nn.Module:
    """Wide: most of its memory are weights."""
    return nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )  # fmt: skip


def transformer() -> nn.Module:
    """Two blocks of width 128: most of its memory are activations."""
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, activation="gelu", batch_first=True)
    return Classifier(nn.TransformerEncoder(layer, 2), 128)


def recurrent() -> nn.Module:
    """An LSTM of 128."""
    return Classifier(nn.LSTM(64, 128, batch_first=True), 128)


def convolutional() -> nn.Module:
    """Two convolutions with normalisation."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 10),
    )  # fmt: skip


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "perceptron 256-1024-1024-10, batch 512": (perceptron, (512, 256)),
    "transformer, 2 blocks, d 128, 32 x 128": (transformer, (32, 128, 128)),
    "LSTM 64-128, 32 x 32": (recurrent, (32, 32, 64)),
    "convolutions 1-32-64, 28x28, batch 64": (convolutional, (64, 1, 28, 28)),
}


@contextmanager
def masters(model: nn.Module, wide: Sequence[Tensor]) -> Iterator[None]:
    """A step of an optimizer of ``wide``, copies in float32, for the parameters of ``model`` in bfloat16."""
    for parameter, copy in zip(model.parameters(), wide, strict=True):
        copy.grad = None if parameter.grad is None else parameter.grad.astype(nd.float32)
    yield
    for parameter, copy in zip(model.parameters(), wide, strict=True):
        parameter.data[...] = copy.data.astype(parameter.dtype)


def loss_of(model: nn.Module, x: Tensor, labels: Tensor) -> Tensor:
    """The loss, of scores in float32."""
    return functional.cross_entropy(model(x).astype(nd.float32), labels)


def peak(build: Callable[[], nn.Module], shape: tuple[int, ...], dtype: Any) -> float:
    """The most memory in use over three steps, in MiB."""
    nd.random.manual_seed(0)
    model = build().to(dtype)
    x = Tensor(nd.random.normal(shape=shape).astype(dtype))
    rows = shape[0] * (shape[1] if len(shape) == 3 else 1)
    labels = Tensor(nd.arange(rows) % 10)
    optimizer = Adam(model.parameters(), lr=1e-3)
    for number in range(4):
        if number == 1:  # the first makes the optimizer's state
            nd.reset_peak_memory()
        optimizer.zero_grad()
        loss_of(model, x, labels).backward()
        optimizer.step()
    return nd.memory_statistics()["peak"] / MIB


def accuracy(dtype: Any, *, wide: bool, epochs: int = 30, seed: int = 0) -> float:
    """The share of held-out digits that a perceptron gets right which was trained in ``dtype``."""
    nd.random.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).to(dtype)
    copies = [nn.Parameter(each.data.astype(nd.float32)) for each in model.parameters()]
    optimizer = Adam(copies if wide else model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for images, labels in DataLoader(Digits(train=True), 64, shuffle=True):
            model.zero_grad()
            loss_of(model, images.astype(dtype), labels).backward()
            if wide:
                with masters(model, copies):
                    optimizer.step()
            else:
                optimizer.step()
    images, labels = Digits(train=False).tensors
    with no_grad():
        found = nd.argmax(model(images.astype(dtype)).data, axis=1)
    return float(nd.mean((found == labels.data).astype(nd.float32)).item())


def main() -> None:
    """Print both tables."""
    print("| training step with Adam | float32, MiB | bfloat16, MiB | ratio |\n|---|---:|---:|---:|")
    for name, (build, shape) in MODELS.items():
        wide, half = (peak(build, shape, dtype) for dtype in (nd.float32, nd.bfloat16))
        print(f"| {name} | {wide:.1f} | {half:.1f} | {half / wide:.2f}x |")
    print("\n| digits, perceptron 64-256-10, 30 epochs | held-out accuracy, seeds 0, 1, 2 |\n|---|---|")
    kinds = (("float32", nd.float32, False), ("bfloat16", nd.bfloat16, False))
    for name, dtype, wide_copies in (*kinds, ("bfloat16, float32 masters", nd.bfloat16, True)):
        reached = [accuracy(dtype, wide=wide_copies, seed=seed) for seed in range(3)]
        print(f"| {name} | {', '.join(f'{each:.2%}' for each in reached)} |")


if __name__ == "__main__":
    main()
