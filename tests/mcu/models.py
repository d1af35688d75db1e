"""The models that run on the board: trained on the digits where that is quick, of a fixed seed otherwise."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.data import Digits

EPOCHS = 12
Weights = dict[str, ag.Tensor]
Function = Callable[[Weights, ag.Tensor], ag.Tensor]


class Model(NamedTuple):
    """A callable over weights and a tensor, the weights by name, and inputs for it: one digit each."""

    function: Function
    weights: Weights
    inputs: list[np.ndarray]
    targets: list[int]


def _weight(generator: nd.random.Generator, *shape: int) -> ag.Tensor:
    fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
    array = generator.normal(0.0, (2.0 / fan) ** 0.5 if len(shape) > 1 else 0.0, shape=shape)
    return ag.Tensor(array, requires_grad=True)


def digits(train: bool) -> tuple[np.ndarray, np.ndarray]:
    """The images as (n, 64) float32 between 0 and 1, and the labels."""
    images, labels = Digits(train=train).tensors
    return images.numpy().reshape(-1, 64), labels.numpy()


def mlp() -> Model:
    """64 - 32 - 10 on digits."""
    g = nd.random.Generator(1)
    w = {"w1": _weight(g, 32, 64), "b1": _weight(g, 32), "w2": _weight(g, 10, 32), "b2": _weight(g, 10)}

    def forward(w: Weights, x: ag.Tensor) -> ag.Tensor:
        return ag.linear(ag.relu(ag.linear(x, w["w1"], w["b1"])), w["w2"], w["b2"])

    return _on_digits(forward, w, (1, 64))


def cnn() -> Model:
    """Two convolutions with pooling, and a linear layer, on digits."""
    g = nd.random.Generator(2)
    w = {
        "w1": _weight(g, 8, 1, 3, 3), "b1": _weight(g, 8), "w2": _weight(g, 16, 8, 3, 3), "b2": _weight(g, 16),
        "w3": _weight(g, 10, 64), "b3": _weight(g, 10),
    }  # fmt: skip

    def forward(w: Weights, x: ag.Tensor) -> ag.Tensor:
        x = ag.max_pool(ag.relu(ag.conv(x.reshape(-1, 1, 8, 8), w["w1"], w["b1"], padding=1)), 2)
        x = ag.max_pool(ag.relu(ag.conv(x, w["w2"], w["b2"], padding=1)), 2)
        return ag.linear(x.reshape(x.shape[0], 64), w["w3"], w["b3"])

    return _on_digits(forward, w, (1, 64))


def lstm() -> Model:
    """An LSTM that reads the rows of a digit, and a linear layer on its last state."""
    g = nd.random.Generator(3)
    w = {
        "input": _weight(g, 64, 8), "hidden": _weight(g, 64, 16), "bias": _weight(g, 64), "out": _weight(g, 10, 16),
        "out_bias": _weight(g, 10),
    }  # fmt: skip

    def forward(w: Weights, x: ag.Tensor) -> ag.Tensor:
        rows = x.reshape(-1, 8, 8)
        h = c = ag.zeros((rows.shape[0], 16))
        for step in range(8):
            gates = ag.linear(rows[:, step], w["input"], w["bias"]) + ag.linear(h, w["hidden"])
            i, f, new, o = ag.split(gates, 4, axis=1)
            c = ag.sigmoid(f) * c + ag.sigmoid(i) * ag.tanh(new)
            h = ag.sigmoid(o) * ag.tanh(c)
        return ag.linear(h, w["out"], w["out_bias"])

    return _on_digits(forward, w, (1, 64))


def attention() -> Model:
    """A block of a transformer whose places are the rows of a digit, and a linear layer on their mean."""
    g = nd.random.Generator(4)
    w = {
        "input": _weight(g, 16, 8), "places": _weight(g, 8, 16), "qkv": _weight(g, 48, 16), "out": _weight(g, 16, 16),
        "up": _weight(g, 32, 16), "up_bias": _weight(g, 32), "down": _weight(g, 16, 32), "head": _weight(g, 10, 16),
        "head_bias": _weight(g, 10),
    }  # fmt: skip

    def normal(x: ag.Tensor) -> ag.Tensor:
        centred = x - ag.mean(x, axis=-1, keepdims=True)
        return centred / ag.sqrt(ag.mean(ag.square(centred), axis=-1, keepdims=True) + 1e-5)

    def forward(w: Weights, x: ag.Tensor) -> ag.Tensor:
        x = ag.linear(x.reshape(-1, 8, 8), w["input"]) + w["places"]
        heads = ag.linear(normal(x), w["qkv"]).reshape(x.shape[0], 8, 3, 2, 8)
        q, k, v = (ag.permute_dims(heads[:, :, at], (0, 2, 1, 3)) for at in range(3))
        mixed = ag.softmax(q @ ag.matrix_transpose(k) / 8**0.5, axis=-1) @ v
        x = x + ag.linear(ag.permute_dims(mixed, (0, 2, 1, 3)).reshape(x.shape[0], 8, 16), w["out"])
        x = x + ag.linear(ag.relu(ag.linear(normal(x), w["up"], w["up_bias"])), w["down"])
        return ag.linear(ag.mean(x, axis=1), w["head"], w["head_bias"])

    return _on_digits(forward, w, (1, 64))


def _on_digits(forward: Function, weights: Weights, shape: tuple[int, ...]) -> Model:
    """Train for some epochs with Adam; the held-out digits are the inputs."""
    images, labels = digits(train=True)
    order = np.random.default_rng(0).permutation(len(images))
    moments = {name: [nd.zeros(each.shape), nd.zeros(each.shape)] for name, each in weights.items()}
    step = 0
    for _ in range(EPOCHS):
        for start in range(0, len(order), 50):
            rows = order[start : start + 50]
            batch, targets = ag.Tensor(nd.asarray(images[rows])), ag.Tensor(nd.asarray(labels[rows]))
            ag.cross_entropy(forward(weights, batch), targets).backward()
            step += 1
            for name, each in weights.items():
                assert each.grad is not None
                nd.adam_step(each.data, each.grad.data, *moments[name], lr=5e-3, step=step)
                each.grad = None
    images, labels = digits(train=False)
    return Model(forward, weights, [each.reshape(shape) for each in images], labels.tolist())


MODELS = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "attention": attention}
