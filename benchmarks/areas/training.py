"""One training step of ``examples/train_digits.py``: forward, loss, backward, update, on a batch of 64."""

import functools

from benchmarks.case import Case, Goal, Statement, Work

__all__ = ["CASES"]

HIDDEN, BATCH, DROPPED, SMOOTHING, LEARNING_RATE = 256, 64, 0.2, 0.1, 3e-3


def _treadle(name: str) -> Work:
    import treadle.ndarray as nd
    from treadle import nn, optim
    from treadle.autograd import Tensor

    nd.random.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, HIDDEN), nn.ReLU(), nn.Dropout(DROPPED), nn.Linear(HIDDEN, 10))
    criterion = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    parameters = model.parameters()
    optimizer = optim.Adam(parameters, lr=LEARNING_RATE) if name == "Adam" else optim.SGD(parameters, 1e-3, 0.9)
    inputs = Tensor(nd.random.uniform(0.0, 1.0, (BATCH, 8, 8)))
    targets = Tensor(nd.random.integers(0, 10, (BATCH,)))

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()

    return Statement("step()", {"step": step})


def _torch(name: str) -> Work:
    import torch
    from torch import nn, optim

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, HIDDEN), nn.ReLU(), nn.Dropout(DROPPED), nn.Linear(HIDDEN, 10))
    criterion = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    parameters = model.parameters()
    optimizer = optim.Adam(parameters, lr=LEARNING_RATE) if name == "Adam" else optim.SGD(parameters, 1e-3, 0.9)
    inputs, targets = torch.rand(BATCH, 8, 8), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()

    return Statement("step()", {"step": step})


CASES = [
    Case(
        f"digits MLP step, {name}, batch {BATCH}",
        {"treadle": functools.partial(_treadle, name), "torch": functools.partial(_torch, name)},
        goals=(Goal("torch", 1.0),),
    )
    for name in ("Adam", "SGD")
]
