"""Each kernel family once, on small arrays: what ``gpu_check.py`` runs under compute-sanitizer."""

import argparse
from collections.abc import Callable

import numpy as np

import treadle.cuda
import treadle.ndarray as nd
from treadle.ndarray import _layers
from treadle.ndarray.attention import attention, attention_gradient
from treadle.ndarray.ranges import check_range


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    generator = np.random.default_rng(0)
    x = nd.asarray(generator.normal(size=(70, 90)).astype(np.float32), device=device)
    whole = nd.asarray(generator.integers(0, 50, 700), device=device)
    long = nd.asarray(generator.normal(size=70000), device=device)
    aligned = long[: 200 * 136].reshape(200, 136).astype("bfloat16")
    image = nd.reshape(x[:64], (2, 4, 8, 90))

    def attend() -> object:
        made = attention(x, x, x, causal=True)
        return attention_gradient(x, x, x, x, *made, causal=True)

    def normalise() -> object:
        out, mean, scale = _layers.norm_rows(x, 90, True, 1e-5, None, None) or (x, None, x)
        _layers.norm_channels_gradient(image, image, long[:4].astype("float32"), scale[:4], None, (True, True, True))
        return _layers.norm_rows_gradient(x, out, 90, mean, scale, None, (True, True, True))

    def pool() -> object:
        values, indices = nd.max_pool(image, 3, stride=1, padding=1)
        return nd.max_pool_gradient(values, indices, image.shape)

    def lose() -> object:
        _layers.entropy("loss", x, whole[:70], -100, 0.1)
        return _layers.entropy_gradient(x, whole[:70], -100, 0.1, x[:, 0].copy())

    def step_in_time() -> object:
        gates, cell = x[:, :80].copy(), x[:, :20].copy()
        _layers.lstm_step(gates, gates, cell, nd.empty_like(gates), *(nd.empty_like(cell) for _ in range(3)))
        return _layers.lstm_step_gradient(gates, cell, cell, cell, cell, nd.empty_like(gates))

    steps: dict[str, Callable[[], object]] = {
        "attention": attend,
        "norms": normalise,
        "max_pool": pool,
        "entropy": lose,
        "lstm": step_in_time,
        "activation_gradient": lambda: _layers.activation_gradient("gelu", x, x),
        "elementwise": lambda: nd.where(x > 0, nd.exp(x.T[::-1].T), x + 1.0),
        "copy": lambda: x[::-1, ::2].astype("float64"),
        "reduce": lambda: (nd.sum(long), nd.sum(x, axis=0), nd.max(x, axis=1)),
        "arg_reduce": lambda: (nd.argmax(long), nd.argmin(x, axis=0)),
        "scan": lambda: nd.cumsum(x, axis=1),
        "variance": lambda: (nd.var(long), nd.var(x, axis=0)),
        "matmul": lambda: (x @ x.T, x[:3].astype("int32") @ x.T.astype("int32"), long.reshape(2, -1) @ long[:35000]),
        "matmul of halves": lambda: x.astype("bfloat16") @ x.T.astype("bfloat16"),
        "matmul of aligned halves": lambda: aligned.T @ aligned,
        "conv": lambda: nd.conv(x.reshape(7, 10, 9, 10), x[:45].reshape(45, 10, 3, 3), padding=1),
        "gather": lambda: x[whole],
        "scatter": lambda: nd.scatter_add(nd.zeros((50,), dtype="int64", device=device), whole, whole),
        "scatter of floats": lambda: nd.scatter_add(nd.zeros((50, 90), device=device), whole[:70], x),
        "check_range": lambda: check_range(whole, 50, "there is no {}"),
        "nonzero": lambda: nd.nonzero(x > 0),
        "sort": lambda: nd.sort(long[:5000]),
        "random": lambda: nd.random.Generator(3).normal(0.0, 1.0, (1001,), device=device),
        "softmax": lambda: (nd.softmax(x), nd.log_softmax(x, axis=0), nd.logsumexp(x, axis=1)),
        "complex": lambda: nd.exp(x * 1j) @ nd.sin(x.T * 1j),
        "optimizer": lambda: nd.adam_step(*(x.copy() for _ in range(4)), lr=0.1, step=1),
    }
    for name, step in steps.items():
        print(name, flush=True)
        step()
        treadle.cuda.synchronize(device)
    graph = treadle.cuda.Graph(device)
    with graph.capture():
        y = x @ x.T + nd.random.uniform(shape=(70, 70), device=device)
        nd.adam_step(x.copy(), x, x.copy(), x.copy(), lr=0.1, step=1)
    with treadle.cuda.Stream(device) as stream:
        graph.replay()
    stream.synchronize()
    print("graph", y.shape)


if __name__ == "__main__":
    main()
