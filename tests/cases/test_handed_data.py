"""Faults in data loading reported to other libraries: each must come out right here, with real processes.

The source of each is named in its test.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

PROGRAM = """
import os, random, sys, time
import numpy as np
import treadle.ndarray as nd
from treadle.data import DataLoader, Dataset, IterableDataset, TensorDataset

class Numbers(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        time.sleep(0.01 if index < 8 else 60.0)  # so that a worker is ended in mid-sample
        return index, os.getpid(), np.zeros(50000, "f4")

class Drawn(Numbers):
    def __getitem__(self, index):
        return [random.getrandbits(31), int(np.random.randint(2**31)), int(nd.random.bits(()).item() >> 20)]

class Two(Exception):
    def __init__(self, left, right):
        super().__init__(left + right)

class Failing(Numbers):
    def __init__(self, error):
        self.error = error
    def __getitem__(self, index):
        if index == 3:
            raise self.error
        return index

def loop(method):
    seen = set()
    for batch in DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context=method):
        new = set(batch[1].numpy().tolist()) - seen
        if new:
            seen |= new
            print(*new, flush=True)
    print("not reached")
"""


def program(body: str) -> list[str]:
    return [sys.executable, "-c", f"{PROGRAM}\nif __name__ == '__main__':\n    {body}"]


def script(folder: Path, body: str) -> list[str]:
    """The same as a file, which a worker that is not forked can import."""
    path = folder / "program.py"
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it"
    path.write_text(f"import signal\n{PROGRAM}\nif __name__ == '__main__':\n    {heard}\n    {body}\n")
    return [sys.executable, str(path)]


def of_session(leader: int) -> set[int]:
    """The processes that are left in a session, zombies not counted."""
    found = set()
    for each in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            state, _, _, session = (each / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                found.add(int(each.name))
    return found


def gone(leader: int, seconds: float = 5.0) -> bool:
    """Whether nothing is left of a session within some seconds."""
    end = time.monotonic() + seconds
    while of_session(leader):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def shared_memory() -> Iterator[None]:
    """Nothing with a name is left in shared memory."""
    before = set(os.listdir("/dev/shm"))
    yield
    assert set(os.listdir("/dev/shm")) <= before


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_an_interrupted_program_leaves_nothing(
    tmp_path: Path, method: str, how: signal.Signals, shared_memory: None
) -> None:
    """pytorch/pytorch#22924, pytorch/pytorch#26072: Ctrl-C reaches every process of the terminal; a kill only one."""
    process = subprocess.Popen(
        script(tmp_path, f"loop({method!r})"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        workers = {int(process.stdout.readline()) for _ in range(2)}
        assert workers <= of_session(process.pid)
        if how == signal.SIGINT:
            os.killpg(process.pid, how)
        else:
            process.send_signal(how)
        output, errors = process.communicate(timeout=30)
        assert process.returncode == -how
        assert "not reached" not in output
        assert gone(process.pid), "processes are left"
        if how == signal.SIGINT:
            assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == 1, errors
        else:
            assert errors == ""
    finally:
        for each in of_session(process.pid):
            os.kill(each, signal.SIGKILL)
        with process:  # closes the pipes
            pass


@pytest.mark.parametrize(
    "body",
    [
        "next(iter(DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context='fork')))",
        "it = iter(DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context='fork')); next(it)",
        "x = DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context='fork', persistent_workers=True); "
        "next(iter(x))",
        "it = iter(DataLoader(Numbers(), 4, num_workers=2, multiprocessing_context='fork')); next(it); 1 / 0",
    ],
)
def test_a_program_that_ends_in_mid_epoch_leaves_nothing(body: str, shared_memory: None) -> None:
    """pytorch/pytorch#22924: an early end, in whatever way the iterator is held."""
    process = subprocess.Popen(program(body), stderr=subprocess.PIPE, text=True, start_new_session=True)
    _, errors = process.communicate(timeout=30)
    assert errors.count("Traceback") == ("1 / 0" in body), errors
    assert gone(process.pid)


def answers(body: str) -> list[str]:
    done = subprocess.run(program(body), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SEEDING = """
    for seed in (1, 1, 2):
        nd.random.manual_seed(seed)
        for epoch in range(2):
            for batch in DataLoader(Drawn(), 4, num_workers=2, collate_fn=list, multiprocessing_context='fork'):
                print(*(value for sample in batch for value in sample))
"""


def test_workers_draw_different_numbers_in_every_epoch() -> None:
    """pytorch/pytorch#5059, pytorch/pytorch#41329: also where each epoch makes a loader of its own."""
    values = [int(each) for each in answers(SEEDING.strip())]
    first, again, other = (values[start : start + 2400] for start in (0, 2400, 4800))
    assert first == again
    assert first != other
    for kind in range(3):  # 800 draws of 31 bits or more: two alike have a chance of 0.00015
        assert len(set(first[kind::3])) >= 799


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("error", ["KeyError('sample 3')", "Two('a', 'b')"])
def test_an_exception_of_a_worker_comes_through(workers: int, error: str) -> None:
    """microsoft/infinibatch#17, meta-pytorch/data#1003: type and traceback are kept, and the loader goes on."""
    context = ", multiprocessing_context='fork'" if workers else ""
    body = f"""
    import traceback
    loader = DataLoader(Failing({error}), 2, num_workers={workers}{context})
    for _ in range(2):
        try:
            list(loader)
        except {error.partition("(")[0]} as error:
            text = traceback.format_exc()
            print("in __getitem__" in text, type(error).__name__)
""".strip()
    start = time.monotonic()
    assert answers(body) == ["True", error.partition("(")[0]] * 2
    assert time.monotonic() - start < 60


LENGTHS = """
    class Stream(IterableDataset):
        def __init__(self, size):
            self.size = size
        def __iter__(self):
            return iter(range(self.size))
        def __len__(self):
            return self.size
    for kind in (range, Stream):
        for size, batch, drop in ((10, 3, False), (10, 3, True), (10, 20, False), (10, 20, True), (0, 3, False)):
            loader = DataLoader(kind(size), batch, drop_last=drop)
            assert len(loader) == sum(1 for _ in loader)
            print(len(loader))
"""


def test_lengths() -> None:
    """pytorch/pytorch#36176, pytorch/pytorch#37753"""
    assert answers(LENGTHS.strip()) == ["4", "3", "1", "0", "0"] * 2


AFTER_THREADS = """
    a = nd.random.Generator(0).normal(shape=(400, 400))
    nd.set_num_threads(2)
    expected = (a @ a).tolist()
    class Products(Numbers):
        def __len__(self):
            return 4
        def __getitem__(self, index):
            nd.set_num_threads(2)
            return (a @ a).tolist() == expected
    print(*[all(batch) for batch in DataLoader(Products(), 2, num_workers=2, collate_fn=list,
                                               multiprocessing_context='fork')])
"""


def test_workers_compute_after_a_parallel_product() -> None:
    """pytorch/pytorch#45198, april-org/april-ann#173: threads that do not exist after a fork are not waited for."""
    assert answers(AFTER_THREADS.strip()) == ["True", "True"]


def test_a_program_without_a_guard_is_told_so(tmp_path: Path) -> None:
    """A sibling: each worker that is not forked imports the program, which must not start workers by that."""
    path = tmp_path / "program.py"
    path.write_text(f"{PROGRAM}\nlist(DataLoader(Numbers(), 4, num_workers=1))\n")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "WorkerError" in done.stderr
    assert "under `if __name__ == '__main__':`" in done.stderr
