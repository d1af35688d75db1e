"""Arrays across forks and worker processes: right results, no wait for threads that the child does not have."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import treadle.ndarray as nd

LIMIT = 120

FORK_AFTER = """
import os, threading
import treadle.ndarray as nd

nd.set_num_threads(2)
generator = nd.random.Generator(0)
a, b = generator.normal(shape=(300, 310)), generator.normal(shape=(310, 320))

def work():
    return [(a @ b).tolist(), nd.sum(a, axis=0).tolist(), nd.sort(a, axis=0).tolist(), nd.exp(a).tolist(),
            (a + b[:300, :310].T[:310, :300].T).tolist(), a[nd.asarray([5, 1])].tolist(), nd.softmax(a).tolist()]

expected = work()
busy = threading.Event()

def keep_busy():  # another thread is inside a product when the process forks
    while not busy.is_set():
        a @ b

thread = threading.Thread(target=keep_busy)
thread.start()
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        right = work() == expected
        nd.set_num_threads(1 + number % 2)
        right = right and work() == expected
        os._exit(0 if right else 1)
    children.append(child)
busy.set()
thread.join()
assert work() == expected
print([os.waitpid(child, 0)[1] for child in children])
"""

POOLED = """
import multiprocessing, sys
import treadle.ndarray as nd
import functools, operator


def product(pair):
    a, b = pair
    return a @ b, nd.sort(a[0]), a.dtype, a.device


if __name__ == "__main__":
    x = nd.random.Generator(1).normal(shape=(120, 130))
    expected = x @ x.T
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        for result, ordered, dtype, device in pool.map(product, [(x, x.T)] * 5):
            assert result.tolist() == expected.tolist() and result.readonly is False
            assert ordered.tolist() == sorted(x[0].tolist())
            assert dtype is nd.float32 and device is nd.device("cpu")
        views = pool.map(functools.partial(operator.getitem, x), [slice(None, None, -2), (slice(1), 3), Ellipsis])
        assert [each.shape for each in views] == [(60, 130), (1,), (120, 130)]
        half = pool.apply(operator.truediv, (nd.asarray([1, 2], device="numpy"), 2))
        assert half.device == "numpy" and half.tolist() == [0.5, 1.0]
        try:
            pool.apply(operator.matmul, (x, x))
        except nd.ShapeError as error:
            assert "matmul" in str(error)
        else:
            raise SystemExit("no error came back")
    print("done")
"""


def ended(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=LIMIT, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_fork_in_the_middle_of_a_parallel_region() -> None:
    """pytorch/pytorch#45198, april-org/april-ann#173: the pool's threads do not survive a fork, its work must."""
    assert ended(["-W", "ignore::DeprecationWarning", "-c", FORK_AFTER]) == "[0, 0, 0, 0]"


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_pools(method: str, tmp_path: Path) -> None:
    """Arrays, their views, dtypes, devices and errors travel both ways, whatever starts the workers."""
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("the system does not fork")
    (tmp_path / "pooled.py").write_text(POOLED)
    assert ended(["-W", "ignore::DeprecationWarning", str(tmp_path / "pooled.py"), method]) == "done"


def test_memory_is_not_shared_after_a_fork() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("the system does not fork")
    program = (
        "import os, treadle.ndarray as nd\nx = nd.zeros(100_000)\nchild = os.fork()\nif child == 0:\n"
        "    x[...] = 7.0\n    os._exit(0 if x.sum().item() == 700_000 else 1)\n"
        "print(os.waitpid(child, 0)[1], x.sum().item())"
    )
    assert ended(["-c", program]) == "0 0.0"
    assert nd.zeros(3).sum().item() == 0
