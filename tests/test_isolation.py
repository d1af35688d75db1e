"""The array alone: what importing it imports, and that the cpu device never computes with NumPy."""

import subprocess
import sys
from pathlib import Path

import pytest

ABOVE = ("treadle.autograd", "treadle.nn", "treadle.optim", "treadle.data", "treadle.cuda")

IMPORTS_NOTHING = f"""
import sys
import treadle.ndarray as nd
x = nd.asarray([[1.0, 2.0], [3.0, 4.0]])
x = nd.exp(x @ x.T)[::-1] + nd.sum(x, axis=0)
assert len(x.tolist()) == 2
loaded = [name for name in {ABOVE!r} if name in sys.modules]
assert not loaded, f"imported from above: {{loaded}}"
heavy = [name for name in ("numpy", "importlib.metadata") if name in sys.modules]
print(",".join(heavy))
"""

# NumPy's functions raise from here on; only the ways to make an array and to look at one are left.
NO_NUMPY = """
import numpy as np

def refuse(*arguments, **keywords):
    raise AssertionError("NumPy was asked to compute")

class Refusing:
    __call__ = reduce = accumulate = outer = at = reduceat = staticmethod(refuse)

ufuncs = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]
for name in ufuncs:
    setattr(np, name, Refusing())
functions = '''
    sum prod max min mean var std any all argmax argmin cumsum cumprod dot vdot inner outer einsum tensordot
    where clip take take_along_axis put put_along_axis concatenate concat stack nonzero argwhere sort argsort
    searchsorted round tril triu eye linspace arange copyto flip roll repeat tile pad interp histogram
    bincount unique
'''.split()
for name in functions:
    if hasattr(np, name):
        setattr(np, name, refuse)
for module in (np.random, np.linalg, np.fft):
    for name in dir(module):
        if callable(getattr(module, name)) and not name.startswith("_") and not isinstance(getattr(module, name), type):
            setattr(module, name, refuse)
"""

# Stronger still: NumPy cannot be imported.
ABSENT_NUMPY = """
import sys
sys.modules["numpy"] = None
"""

EVERY_OP = """
import treadle.ndarray as nd
from treadle.ndarray.opset import OPS, Accepts, Family

with nd.use_device("cpu"):
    for op in OPS.values():
        dtype = nd.int32 if op.accepts in (Accepts.INTEGER, Accepts.BITWISE) else nd.float32
        x = nd.asarray([[0.5, 0.75, 0.25], [0.125, 0.5, 1.0]], dtype=nd.float32).astype(dtype)
        count = {Family.BINARY: 2, Family.TERNARY: 3}.get(op.family, 1)
        first = (x > 0,) if op.name == "where" else ()
        keywords = {"axis": 0} if op.family is Family.SCAN else {}
        getattr(nd, op.name)(*first, *[x] * (count - len(first)), **keywords)
    x = nd.random.normal(0.0, 1.0, (40, 30))
    x @ x.T
    x[nd.asarray([0, 2])], x[x > 0], x[::-2, 1:]
    x[0] = 1.0
    x += 1
    nd.softmax(x, axis=-1), nd.var(x, axis=0), nd.nonzero(x), nd.concat([x, x]), nd.take(x, nd.asarray([1]), axis=1)
    nd.arange(5), nd.linspace(0.0, 1.0, 3), nd.eye(3), nd.tril(nd.ones((3, 3))), nd.one_hot(nd.asarray([1]), 3)
    nd.random.uniform(0.0, 1.0, (3,)), nd.random.permutation(5)
    nd.random.integers(0, 9, (3,)), nd.random.bernoulli(0.5, (3,))
    nd.sort(x), nd.argsort(x, axis=0), nd.topk(x, 3), nd.searchsorted(nd.sort(x[0]), x), nd.count_nonzero(x)
    nd.unique_all(x), nd.isin(x, x[0]), nd.cumulative_sum(x, axis=0), nd.logcumsumexp(x, axis=0), nd.histogram(x)
    nd.quantile(x, [0.1, 0.5], axis=0), nd.nanmedian(x), nd.nanvar(x), nd.nanmax(x, axis=1), nd.diff(x)
    nd.nanargmax(x, axis=1), nd.quantile(x, 0.3, method="closest_observation")
    nd.einsum("ij,kj->ik", x, x), nd.tensordot(x, x.T, axes=1), nd.vecdot(x, x), nd.kron(x[:2], x[:2])
    nd.outer(x[0], x[1]), nd.allclose(x, x), nd.meshgrid(x[0], x[1]), nd.unstack(x), nd.split(x, 2), nd.finfo(x)
    nd.pad(x, 2), nd.pad(x, 2, mode="reflect"), nd.repeat(x, 2), nd.roll(x, 1), nd.tile(x, (2, 1)), nd.rot90(x)
    nd.sliding_window_view(x, (2, 2)), nd.diagonal(x), nd.trace(x), nd.linalg.vector_norm(x)
    nd.linalg.matrix_power(x[:30], 3), nd.linalg.cross(x[0, :3], x[1, :3])
    nd.scatter_add(x, nd.asarray([0, 0]), x[:2]), nd.take_along_axis(x, nd.argmax(x, axis=1, keepdims=True), axis=1)
"""

TRAINING_STEP = """
import treadle.ndarray as nd
from treadle import nn, optim
from treadle.autograd import Tensor

with nd.use_device("cpu"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    optimizers = [optim.SGD(model.parameters(), lr=0.1, momentum=0.9), optim.Adam(model.parameters())]
    inputs, targets = Tensor(nd.random.normal(0.0, 1.0, (5, 8))), Tensor(nd.asarray([0, 1, 2, 0, 1]))
    for optimizer in optimizers:
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(model(inputs), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""


def run(code: str) -> str:
    """Run code in a fresh interpreter, in a folder where nothing lies."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(sys.prefix), check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_array_imports_nothing_above_and_no_numpy() -> None:
    assert run(IMPORTS_NOTHING) == ""


@pytest.mark.parametrize("numpy", [NO_NUMPY, ABSENT_NUMPY], ids=["refusing", "absent"])
def test_the_cpu_device_never_computes_with_numpy(numpy: str) -> None:
    run(numpy + EVERY_OP)


@pytest.mark.parametrize("numpy", [NO_NUMPY, ABSENT_NUMPY], ids=["refusing", "absent"])
def test_a_training_step_never_computes_with_numpy(numpy: str) -> None:
    pytest.importorskip("treadle.nn")
    run(numpy + TRAINING_STEP)


@pytest.mark.parametrize("operation", ["np.exp(np.ones(2))", "np.sum(np.ones(2))", "np.linalg.norm(np.ones(2))"])
def test_the_trap_springs(operation: str) -> None:
    """NumPy's functions do raise, so that the tests above can fail."""
    with pytest.raises(AssertionError, match="NumPy was asked to compute"):
        run(NO_NUMPY + operation)


def test_the_numpy_device_springs_it() -> None:
    with pytest.raises(AssertionError, match="NumPy was asked to compute"):
        run(NO_NUMPY + EVERY_OP.replace('"cpu"', '"numpy"'))
