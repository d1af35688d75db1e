"""One digit by the C that treadle writes, compiled for this machine: against PyTorch and eager treadle."""

from typing import Any

from benchmarks.case import Case, Goal, Statement, Work

__all__ = ["CASES"]

HIDDEN = 256


def _eager() -> Work:
    import treadle.ndarray as nd
    from treadle import nn
    from treadle.autograd import Tensor, no_grad

    nd.random.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, HIDDEN), nn.ReLU(), nn.Dropout(0.2), nn.Linear(HIDDEN, 10)).eval()
    x = Tensor(nd.random.uniform(0.0, 1.0, (1, 8, 8)))

    def run() -> Any:
        with no_grad():
            return model(x)

    return Statement("run()", {"run": run, "model": model, "x": x})


def _compiled() -> Work:
    from treadle.autograd.export import compile

    names = _eager().names  # type: ignore[union-attr]
    return Statement("run(x)", {"run": compile(names["model"], names["x"]), "x": names["x"]})


def _torch() -> Work:
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, HIDDEN), nn.ReLU(), nn.Dropout(0.2), nn.Linear(HIDDEN, 10)).eval()
    x = torch.rand(1, 8, 8)

    def run() -> Any:
        with torch.inference_mode():
            return model(x)

    return Statement("run()", {"run": run})


CASES = [
    Case(
        "digits MLP, compiled, batch 1",
        {"treadle": _compiled, "torch": _torch, "treadle eager": _eager},
        goals=(Goal("torch", 1 / 0.15), Goal("treadle eager", 2.0)),
    )
]
