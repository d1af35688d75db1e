"""When memory runs out in the middle of whatever, MemoryError comes, and everything stays usable.

Each case runs in a process of its own, whose address space is cut to little more than it uses.
"""

import subprocess
import sys

import pytest

CASES = {
    "elementwise": "x + y",
    "in place": "x.__iadd__(nd.broadcast_to(nd.ones(1), x.shape)[::-1].copy())",
    "cast": "x.astype('float64')",
    "copy": "x[::-1].copy()",
    "overlap": "x.__setitem__(slice(1, None), x[:-1])",
    "matmul": "tall @ wide",
    "sort": "nd.sort(x)",
    "argsort": "nd.argsort(x)",
    "unique": "nd.unique_values(x)",
    "gather": "x[nd.broadcast_to(nd.asarray([3]), (20_000_000,))]",
    "scatter": "x.__setitem__(nd.broadcast_to(nd.asarray([3]), (10_000_000,)), y[:10_000_000])",
    "mask": "x[x == x]",
    "nonzero": "nd.nonzero(x)",
    "concat": "nd.concat([x, y])",
    "cumsum": "nd.cumsum(x)",
    "softmax": "nd.softmax(x)",
    "pad": "nd.pad(x, 5)",
    "random": "nd.random.Generator(0).normal(shape=x.shape)",
    "foreign": "nd.asarray(memoryview(x), dtype='float64')",
    "bytes": "pickle.dumps(x)",
    "list": "nd.asarray([1.0] * 20_000_000)",
    "eye": "nd.eye(5000, 5000)",
    "tile": "nd.tile(x, (3,))",
}

PROGRAM = """
import pickle, resource, gc
import treadle.ndarray as nd
size = 12_000_000  # 48 MB each
x, y = nd.ones(size), nd.ones(size)
tall, wide = x.reshape(-1, 1000), nd.ones((1000, 12_000))
small = nd.asarray([3.0, 1.0, 2.0])
nd.sort(small), small @ small, nd.unique_values(small), nd.random.Generator(0).normal(shape=(3,))  # rooms loaded
nd.empty_cache()
before = nd.memory_statistics()
used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
hard = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (used + 24_000_000, hard))
for _ in range(3):
    try:
        {call}
    except MemoryError:
        pass
    else:
        raise SystemExit('no MemoryError')
    gc.collect()
    after = nd.memory_statistics()
    assert (after['in_use'], after['blocks']) == (before['in_use'], before['blocks']), (before, after)
    assert (small + small).tolist() == [6, 2, 4] and nd.sort(small).tolist() == [1, 2, 3]
    assert (small @ small).item() == 14 and small[small > 1].tolist() == [3, 2]
assert x.sum().item() == size
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
result = {call}
print('usable')
"""


def limits_hold() -> bool:
    """Whether this process may be limited as the cases are: not where a sanitizer maps terabytes."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
    except OSError:
        return False
    return pages < 1 << 28


@pytest.mark.skipif(not limits_hold(), reason="the address space cannot be limited here")
@pytest.mark.parametrize("case", CASES)
def test_memory_error(case: str) -> None:
    program = PROGRAM.format(call=CASES[case])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip() == "usable", done.stderr
