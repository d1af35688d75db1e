"""Times of each kernel family beside PyTorch's, the copy bandwidth and the matrix rate. Run by ``gpu_check.py``.

    python tools/gpu_timings.py --device cuda --seconds 90 --out timings.json [--quick] [--torch]

Both libraries run in one process and take turns, each for a few rounds; a round is as many calls as make it long
enough, and the device is waited for at its end. The result is the median of the rounds. PyTorch, where there is none,
is left out, and so is a row that fails, with its error.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_rows import (
    Arrays,
    Row,
    attention_rows,
    conv_rows,
    layer_rows,
    matrix_rows,
    memory_rows,
    more_memory_rows,
    training_rows,
)

import treadle.cuda
import treadle.ndarray as nd

ROUNDS = 5


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return torch


class Timer:
    """Medians of rounds, in seconds a call."""

    def __init__(self, device: str, torch: Any, quick: bool) -> None:
        self.device = device
        self.torch = torch
        self.round_seconds = 0.0 if quick else 0.02

    def wait(self) -> None:
        treadle.cuda.synchronize(self.device)
        if self.torch is not None and self.torch.cuda.is_available():
            self.torch.cuda.synchronize()

    def round(self, call: Callable[[], Any], calls: int) -> float:
        self.wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        self.wait()
        return (time.perf_counter() - begin) / calls

    def compare(self, *calls: Callable[[], Any] | None) -> list[float | None]:
        """The medians of functions that take turns."""
        present = [call for call in calls if call is not None]
        once = []
        for call in present:
            call()
            once.append(self.round(call, 1))
        counts = [max(1, min(1000, int(self.round_seconds / max(seconds, 1e-7)))) for seconds in once]
        rounds = [[self.round(call, count) for call, count in zip(present, counts, strict=True)] for _ in range(ROUNDS)]
        medians = iter([statistics.median(each) for each in zip(*rounds, strict=True)])
        return [None if call is None else next(medians) for call in calls]


def copy_bandwidth(timer: Timer, arrays: Arrays, n: int) -> float:
    """Bytes a second of a copy within the device, read and written: the faster of both libraries'."""
    x, tx = arrays.pair(n)
    out = nd.empty_like(x)
    tout: Any = None if tx is None else tx.clone()
    copy = None if tx is None else lambda: tout.copy_(tx)
    seconds = [each for each in timer.compare(lambda: treadle.cuda.copy_async(x, out), copy) if each]
    return 2 * x.nbytes / min(seconds)


def measure(row: Row, timer: Timer, bandwidth: float) -> dict[str, Any]:
    ours, theirs = timer.compare(row.ours, row.torch if timer.torch is not None else None)
    assert ours is not None
    speed = theirs / ours if theirs else None
    rate = row.nbytes / ours
    reached = rate / bandwidth if row.against == "copy" else speed
    return {
        "family": row.family,
        "name": row.name,
        "milliseconds": ours * 1e3,
        "torch_milliseconds": theirs * 1e3 if theirs else None,
        "speed_of_torch": speed,
        "gigabytes_per_second": rate / 1e9 if row.nbytes else None,
        "of_copy_bandwidth": rate / bandwidth if row.nbytes else None,
        "teraflops": row.flops / ours / 1e12 if row.flops else None,
        "goal": row.goal,
        "against": row.against,
        "reached": None if reached is None else reached >= row.goal,
    }


def write(path: Path, result: dict[str, Any]) -> None:
    """At once or not at all: the process may be ended in between."""
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps(result, indent=1))
    aside.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--torch", action="store_true", help="call PyTorch beside an emulation too, to try that out")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    torch = _torch() if options.device == "cuda" or options.torch else None
    if torch is not None and not torch.cuda.is_available() and not options.torch:
        torch = None
    n = 4096 if options.quick else 1 << 26
    timer, arrays = Timer(options.device, torch, options.quick), Arrays(options.device, torch)
    bandwidth = copy_bandwidth(timer, arrays, n)
    result: dict[str, Any] = {
        "torch": getattr(torch, "__version__", None),
        "copy_gigabytes_per_second": bandwidth / 1e9,
    }
    result["rows"], result["left_out"] = [], []
    groups: tuple[Callable[[], list[Row]], ...] = (
        lambda: matrix_rows(arrays, options.quick),
        lambda: memory_rows(arrays, n),
        lambda: more_memory_rows(arrays, n),
        lambda: conv_rows(arrays, options.quick),
        lambda: layer_rows(arrays, n),
        lambda: attention_rows(arrays, options.quick),
    )
    more: tuple[Callable[[], list[Row]], ...] = (*groups, lambda: training_rows(arrays, options.quick))
    for group in more:
        try:
            rows = group()
        except Exception as error:
            result["left_out"].append(f"a group of rows: {type(error).__name__}: {error}")
            continue
        for row in rows:
            if time.monotonic() > end:
                result["left_out"].append(f"{row.family} {row.name}: no time was left")
                continue
            try:
                result["rows"].append(measure(row, timer, bandwidth))
            except Exception as error:
                result["left_out"].append(f"{row.family} {row.name}: {type(error).__name__}: {error}")
            write(options.out, result)
    write(options.out, result)


if __name__ == "__main__":
    main()
