"""The models whose training steps are compared, each written once: treadle.nn has PyTorch's names.

A model is made from the modules of one library, ``Library``, so that both run the same code.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

__all__ = ["MODELS", "Library", "Model", "library"]

WIDTH, HEADS, LAYERS, TOKENS, VOCABULARY = 128, 4, 2, 64, 256


@dataclass(frozen=True)
class Library:
    """What the two name otherwise, beside their modules and optimizers."""

    nn: ModuleType
    optim: ModuleType
    normal: Callable[[tuple[int, ...]], Any]
    integers: Callable[[int, tuple[int, ...]], Any]
    transpose: Callable[[Any, int, int], Any]
    parts: Callable[[Any, int], Any]
    no_grad: Callable[[], Any]
    empty_cache: Callable[[], None]


def _treadle() -> Library:
    import treadle.autograd as ag
    import treadle.ndarray as nd
    from treadle import nn, optim

    nd.random.manual_seed(0)
    return Library(
        nn,
        optim,
        lambda shape: ag.Tensor(nd.random.normal(0.0, 1.0, shape)),
        lambda high, shape: ag.Tensor(nd.random.integers(0, high, shape)),
        lambda x, first, second: ag.swapaxes(x, first, second),
        lambda x, count: ag.split(x, count, axis=-1),
        ag.no_grad,
        nd.empty_cache,
    )


def _torch(threads: int) -> Library:
    import torch
    from torch import nn, optim

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    return Library(
        nn,
        optim,
        torch.randn,
        lambda high, shape: torch.randint(0, high, shape),
        lambda x, first, second: x.transpose(first, second),
        lambda x, count: x.chunk(count, dim=-1),
        torch.no_grad,
        lambda: None,
    )


def library(name: str, threads: int) -> Library:
    """The library by name; ImportError where it is not installed."""
    return _torch(threads) if name == "torch" else _treadle()


@dataclass(frozen=True)
class Model:
    """A model with a batch: ``make`` gives the module, its operand and, if they are classes, the targets."""

    make: Callable[[Library], tuple[Any, Any, Any]]
    optimizer: str = "Adam"

    def step(self, library: Library) -> Callable[[], None]:
        """A training step: gradients to None, forward, loss, backward, update."""
        module, inputs, targets = self.make(library)
        made = {"Adam": lambda p: library.optim.Adam(p, lr=1e-3), "SGD": lambda p: library.optim.SGD(p, lr=1e-2)}
        optimizer = made[self.optimizer](module.parameters())
        criterion = library.nn.MSELoss() if targets is None else library.nn.CrossEntropyLoss()
        wanted = library.normal(tuple(module(inputs).shape)) if targets is None else targets

        def step() -> None:
            optimizer.zero_grad()
            loss = criterion(module(inputs), wanted)
            loss.backward()
            optimizer.step()

        return step

    def inference(self, library: Library) -> Callable[[], None]:
        """A forward pass without a graph."""
        module, inputs, _ = self.make(library)
        module.eval()

        def infer() -> None:
            with library.no_grad():
                module(inputs)

        return infer


def _mlp(*widths: int, batch: int) -> Callable[[Library], tuple[Any, Any, Any]]:
    def make(library: Library) -> tuple[Any, Any, Any]:
        nn = library.nn
        layers = [nn.Linear(widths[0], widths[1])]
        for width, following in itertools.pairwise(widths[1:]):
            layers += [nn.ReLU(), nn.Linear(width, following)]
        return nn.Sequential(*layers), library.normal((batch, widths[0])), library.integers(widths[-1], (batch,))

    return make


def _cnn(library: Library) -> tuple[Any, Any, Any]:
    nn = library.nn
    layers: list[Any] = []
    for given, wanted in ((1, 32), (32, 64)):
        layers += [nn.Conv2d(given, wanted, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 7 * 7, 10))
    return module, library.normal((64, 1, 28, 28)), library.integers(10, (64,))


def _convolution(library: Library) -> tuple[Any, Any, Any]:
    nn = library.nn
    module = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
    return module, library.normal((32, 64, 32, 32)), None


def _lstm(library: Library) -> tuple[Any, Any, Any]:
    class LastState(library.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.head = library.nn.LSTM(64, 128), library.nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            states, _ = self.lstm(x)
            return self.head(states[-1])

    return LastState(), library.normal((32, 32, 64)), library.integers(10, (32,))


def _gpt(library: Library) -> tuple[Any, Any, Any]:
    nn = library.nn

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def heads(self, x: Any) -> Any:
            return library.transpose(x.reshape(x.shape[0], x.shape[1], HEADS, WIDTH // HEADS), 1, 2)

        def forward(self, x: Any) -> Any:
            q, k, v = (self.heads(each) for each in library.parts(self.qkv(self.norm1(x)), 3))
            attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(library.transpose(attended, 1, 2).reshape(*x.shape))
            return x + self.feed(self.norm2(x))

    class GPT(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions.weight
            return self.head(self.norm(self.blocks(x))).reshape(-1, VOCABULARY)

    tokens, targets = library.integers(VOCABULARY, (16, TOKENS)), library.integers(VOCABULARY, (16 * TOKENS,))
    return GPT(), tokens, targets


MODELS = {
    "MLP 784-128-10, batch 64, SGD": Model(_mlp(784, 128, 10, batch=64), "SGD"),
    "MLP 784-128-10, batch 64, Adam": Model(_mlp(784, 128, 10, batch=64)),
    "MLP 784-512-512-10, batch 256, Adam": Model(_mlp(784, 512, 512, 10, batch=256)),
    "CNN 1-32-64, 28x28, batch 64": Model(_cnn),
    "conv 64-64, 32x32, BatchNorm, ReLU, batch 32": Model(_convolution),
    "LSTM 64-128, 32 steps, batch 32": Model(_lstm),
    "GPT 2 layers, d 128, 4 heads, 64 tokens, batch 16": Model(_gpt),
    "MLP 784-128-10, batch 1": Model(_mlp(784, 128, 10, batch=1)),
}
