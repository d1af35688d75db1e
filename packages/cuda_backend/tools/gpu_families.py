"""Each kernel family once, on small arrays: what ``gpu_check.py`` runs under compute-sanitizer."""

import argparse
from collections.abc import Callable

import numpy as np

import treadle.cuda
import treadle.ndarray as nd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    generator = np.random.default_rng(0)
    x = nd.asarray(generator.normal(size=(70, 90)).astype(np.float32), device=device)
    whole = nd.asarray(generator.integers(0, 50, 700), device=device)
    long = nd.asarray(generator.normal(size=70000), device=device)
    steps: dict[str, Callable[[], object]] = {
        "elementwise": lambda: nd.where(x > 0, nd.exp(x.T[::-1].T), x + 1.0),
        "copy": lambda: x[::-1, ::2].astype("float64"),
        "reduce": lambda: (nd.sum(long), nd.sum(x, axis=0), nd.max(x, axis=1)),
        "arg_reduce": lambda: (nd.argmax(long), nd.argmin(x, axis=0)),
        "scan": lambda: nd.cumsum(x, axis=1),
        "matmul": lambda: x @ x.T,
        "gather": lambda: x[whole],
        "scatter": lambda: nd.scatter_add(nd.zeros((50,), dtype="int64", device=device), whole, whole),
        "nonzero": lambda: nd.nonzero(x > 0),
        "sort": lambda: nd.sort(long[:5000]),
        "random": lambda: nd.random.Generator(3).normal(0.0, 1.0, (1001,), device=device),
        "softmax": lambda: (nd.softmax(x), nd.log_softmax(x, axis=0)),
    }
    for name, step in steps.items():
        print(name, flush=True)
        step()
        treadle.cuda.synchronize(device)
    graph = treadle.cuda.Graph(device)
    with graph.capture():
        y = x @ x.T
    with treadle.cuda.Stream(device) as stream:
        graph.replay()
    stream.synchronize()
    print("graph", y.shape)


if __name__ == "__main__":
    main()
