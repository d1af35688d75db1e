"""One input through the C that treadle writes, compiled for this machine: against PyTorch and eager treadle."""

from collections.abc import Callable
from typing import Any

from benchmarks.case import Case, Goal, Statement, Work

__all__ = ["CASES"]

Build = Callable[[Any], Any]


def _mlp(nn: Any) -> Any:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))


def _cnn(nn: Any) -> Any:
    def convolution(channels: int, filters: int) -> list[Any]:
        return [nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU()]

    return nn.Sequential(
        *convolution(3, 32), *convolution(32, 32), nn.MaxPool2d(2), *convolution(32, 64), *convolution(64, 64),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def _transformer(nn: Any) -> Any:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 2)


def _treadle(build: Build, shape: tuple[int, ...], *, compiled: bool) -> Work:
    import treadle.ndarray as nd
    from treadle import nn
    from treadle.autograd import Tensor, no_grad
    from treadle.autograd.export import compile

    nd.random.manual_seed(0)
    model = build(nn).eval()
    x = Tensor(nd.random.uniform(0.0, 1.0, shape))
    if compiled:
        return Statement("run(x)", {"run": compile(model, x), "x": x})

    def run() -> Any:
        with no_grad():
            return model(x)

    return Statement("run()", {"run": run})


def _torch(build: Build, shape: tuple[int, ...]) -> Work:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = build(nn).eval()
    x = torch.rand(*shape)

    def run() -> Any:
        with torch.inference_mode():
            return model(x)

    return Statement("run()", {"run": run})


def _case(name: str, build: Build, shape: tuple[int, ...], torch: float, eager: float) -> Case:
    return Case(
        f"{name}, compiled, batch 1",
        {
            "treadle": lambda: _treadle(build, shape, compiled=True),
            "torch": lambda: _torch(build, shape),
            "treadle eager": lambda: _treadle(build, shape, compiled=False),
        },
        goals=(Goal("torch", torch), Goal("treadle eager", eager)),
    )


CASES = [
    _case("digits MLP", _mlp, (1, 8, 8), 1 / 0.15, 2.0),
    _case("CNN of four convolutions, 32x32", _cnn, (1, 3, 32, 32), 1.0, 1.0),
    _case("transformer of 2 layers, 64 places, d 128", _transformer, (1, 64, 128), 1.0, 1.0),
]
