"""What must work where only treadle-ndarray is installed."""

import importlib.util
import sys

import treadle.ndarray as nd

for name in ("treadle.autograd", "treadle.nn", "treadle.optim", "treadle.data", "treadle.cuda", "torch"):
    assert importlib.util.find_spec(name) is None, f"{name} is importable"

x = nd.arange(6, dtype=nd.float32).reshape((2, 3))
assert (x @ x.T).tolist() == [[5.0, 14.0], [14.0, 50.0]]
assert nd.sum(x[:, ::-1], axis=0).tolist() == [7.0, 5.0, 3.0]
assert "numpy" not in sys.modules, "NumPy was imported before it was needed"
assert x.numpy().shape == (2, 3)
assert (nd.ones((2,), device="numpy") + 1).tolist() == [2.0, 2.0]
print("treadle-ndarray alone: works")
