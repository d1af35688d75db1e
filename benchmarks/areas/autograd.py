"""What the graph costs: long chains, their memory, diamonds, what is left over after training steps.

Elements are few, so that the nodes count and not the kernels. Time a node is that of building, differentiating and
freeing it.
"""

import functools
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.case import Case, Goal, Measurement, Statement, Work

__all__ = ["CASES"]

ELEMENTS, DEPTH, STEPS = 16, 60, 1000
LENGTHS = (10**4, 10**5, 10**6)


def _leaves(library: str) -> tuple[Any, Any]:
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        return torch.full((ELEMENTS,), 0.5, requires_grad=True), torch.full((ELEMENTS,), 0.999, requires_grad=True)
    import treadle.autograd as ag
    from treadle.autograd._pool import SPARE_NODES, recycle

    recycle(ag.Tensor, SPARE_NODES)  # a row before may have changed it
    return ag.full((ELEMENTS,), 0.5).requires_grad_(), ag.full((ELEMENTS,), 0.999).requires_grad_()


def _chain(x: Any, w: Any, length: int) -> Any:
    for _ in range(length // 4):
        x = x * w
        x = x + w
        x = x * 0.999
        x = x + 0.001
    return x


def _step(library: str, length: int) -> Callable[[], None]:
    x, w = _leaves(library)

    def step() -> None:
        x.grad = w.grad = None
        _chain(x, w, length).sum().backward()

    return step


def _short(library: str) -> Work:
    return Statement("step()", {"step": _step(library, 1000)})


def _long(library: str, length: int) -> Work:
    step = _step(library, length)

    def take() -> float:
        start = time.perf_counter()
        step()
        return (time.perf_counter() - start) / length

    return Measurement(take)


def _collected(library: str, spare_nodes: int | None = None) -> Work:
    """The short chain with the garbage collector running, which the other rows have off."""
    step = _step(library, 1000)
    if spare_nodes is not None:
        import treadle.autograd as ag
        from treadle.autograd._pool import recycle

        recycle(ag.Tensor, spare_nodes)

    def take() -> float:
        gc.enable()
        start = time.perf_counter()
        for _ in range(20):
            step()
        elapsed = time.perf_counter() - start
        gc.disable()
        return elapsed / 20

    return Measurement(take)


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def _left_behind() -> Work:
    """Megabytes that a chain of a million nodes leaves in the process, once the caches are emptied."""
    import treadle.ndarray as nd

    step = _step("treadle", LENGTHS[-1])

    def take() -> float:
        nd.empty_cache()
        before = _resident()
        step()
        nd.empty_cache()
        return _resident() - before

    take()  # the first time fills the pools of objects
    return Measurement(take)


def _alive() -> Work:
    """Nodes that live on after training steps without the collector."""
    import treadle.autograd as ag
    import treadle.ndarray as nd
    from treadle import nn, optim

    nd.random.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer, criterion = optim.SGD(model.parameters(), 0.1, momentum=0.9), nn.CrossEntropyLoss()
    inputs, targets = ag.Tensor(nd.random.normal(0.0, 1.0, (4, 8))), ag.Tensor(nd.random.integers(0, 4, (4,)))

    def steps(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            criterion(model(inputs), targets).backward()
            optimizer.step()

    def take() -> float:
        steps(1)
        before = ag.live_tensor_count()
        steps(STEPS)
        return ag.live_tensor_count() - before

    return Measurement(take)


def _diamond(library: str) -> Work:
    x, _ = _leaves(library)

    def step() -> None:
        x.grad = None
        y = x
        for _ in range(DEPTH):
            y = y * 0.5 + y * 0.5
        y.sum().backward()

    return Statement("step()", {"step": step})


def _after_debugging() -> Work:
    """The short chain's time after the debugging tools were used, over that before."""
    import treadle.autograd as ag

    step = _step("treadle", 1000)

    def burst() -> float:
        best = float("inf")
        for _ in range(20):
            start = time.perf_counter()
            step()
            best = min(best, time.perf_counter() - start)
        return best

    def take() -> float:
        x, w = _leaves("treadle")
        before = burst()
        loss = _chain(x, w, 40).sum()
        ag.why(x, loss)
        ag.Stepper(loss).backward().run()
        with ag.track_memory():
            _chain(x, w, 40).sum().backward()
        return burst() / before

    return Measurement(take)


def _both(make: Callable[..., Work], *arguments: Any) -> dict[str, Callable[[], Work]]:
    return {library: functools.partial(make, library, *arguments) for library in ("treadle", "torch")}


NODE = "seconds a node: built, differentiated, freed; the collector is off"
CASES = [
    Case("chain of 1000 ops, 16 float32", _both(_short), (Goal("torch", 1 / 0.3),)),
    *(Case(f"chain of {length:.0e} ops, a node".replace("e+0", "e"), _both(_long, length), note=NODE)
      for length in LENGTHS),
    Case("memory that a chain of 1e6 ops leaves", {"treadle": _left_behind}, limit=5.0, unit="MB"),
    Case("live nodes after 1000 training steps", {"treadle": _alive}, limit=0.0, unit="nodes"),
    Case(f"diamond of depth {DEPTH}, {3 * DEPTH} ops", _both(_diamond)),
    Case("chain of 1000 ops, collector running", _both(_collected), (Goal("torch", 1 / 0.3),)),
    Case("the same without spare nodes", {"treadle": functools.partial(_collected, "treadle", 0)}),
    Case("chain after debugging, over before", {"treadle": _after_debugging}, limit=1.05, unit="x"),
]  # fmt: skip
