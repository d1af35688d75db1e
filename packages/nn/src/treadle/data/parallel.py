"""The main process's side of worker processes: starting, asking, waiting, ending."""

import multiprocessing
import os
import signal
import time
import warnings
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

from treadle.data.errors import WorkerError, WorkerTimeoutError
from treadle.data.failures import Failure
from treadle.data.transport import Channel, Shipment, available
from treadle.data.worker import Answer, Begin, Task, WorkerSettings, run_worker

__all__ = ["ParallelBatches", "WorkerPool", "start_context"]

_DEFAULT_METHOD = "forkserver"
_ENDING = 3.0
"""Seconds in which workers end by themselves before they are killed."""
_PRELOADED = ["__main__", "treadle.data.worker", "numpy"]

_open_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


def start_context(wanted: Any) -> Any:
    """The multiprocessing context of a start method's name, of a context itself, or of None: the default."""
    if not available():
        raise WorkerError("this system lacks memfd_create, which Linux has, and worker processes need: num_workers=0")
    if multiprocessing.current_process().daemon:
        raise WorkerError("a worker process cannot have workers of its own: a loader within one has num_workers=0")
    if wanted is not None and not isinstance(wanted, str):
        return wanted
    method = _DEFAULT_METHOD if wanted is None else wanted
    known = multiprocessing.get_all_start_methods()
    if method not in known:
        raise ValueError(f"multiprocessing_context must be one of {', '.join(known)} or a context, not {method!r}")
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(_PRELOADED)  # a fork server that runs already is left as it is
    return context


class WorkerPool:
    """Worker processes that share one data set. They end with :meth:`close`, or when the pool is forgotten."""

    def __init__(self, context: Any, dataset: Any, settings: WorkerSettings) -> None:
        self.size = settings.num_workers
        self.run = -1
        self._channels: list[Channel] = []
        self._processes: list[Any] = []
        self._method = context.get_start_method()
        self._answered = False
        self.close = weakref.finalize(self, _shut_down, self._processes, self._channels, os.getpid())
        shipment = Shipment(dataset)
        try:
            for number in range(self.size):
                self._start(context, shipment, replace(settings, id=number))
        except BaseException:
            self.close()
            raise
        finally:
            shipment.close()

    def _start(self, context: Any, shipment: Shipment, settings: WorkerSettings) -> None:
        here, there = Channel.pair()
        if self._method == "fork":
            settings = replace(settings, strangers=(*_open_channels, here))
        process = context.Process(
            target=run_worker, args=(there, shipment, settings), name=f"treadle worker {settings.id}", daemon=True
        )
        try:
            with _no_interrupt():
                process.start()
        except Exception as error:
            here.close()
            if self._method != "fork" and not isinstance(error, OSError):
                error.add_note(
                    f"what a worker started by {self._method!r} gets is pickled: data set, collate_fn and "
                    "worker_init_fn must stand at the top of a module; or pass multiprocessing_context='fork'"
                )
            raise
        finally:
            there.close()
        self._processes.append(process)
        self._channels.append(here)
        _open_channels.add(here)

    def begin(self, base_seed: int) -> int:
        """Begin a pass, of which the number is returned; answers to earlier ones are dropped."""
        self.run += 1
        for number in range(self.size):
            self._send(number, Begin(self.run, base_seed))
        return self.run

    def ask(self, worker: int, number: int, indices: Any) -> None:
        """Have a worker fetch batch ``number``."""
        self._send(worker, Task(self.run, number, indices))

    def _send(self, worker: int, message: Any) -> None:
        try:
            self._channels[worker].send(message)
        except (BrokenPipeError, ConnectionResetError):
            raise self._dead(worker) from None

    def answer(self, workers: list[int], timeout: float) -> tuple[int, Answer]:
        """The next answer of one of ``workers`` to this pass; ``timeout`` in seconds, 0 for none."""
        end = time.monotonic() + timeout
        by_channel: dict[Any, int] = {self._channels[number]: number for number in workers}
        sentinels = {self._processes[number].sentinel: number for number in workers}
        while True:
            left = max(0.0, end - time.monotonic()) if timeout else None
            ready: list[Any] = wait([*by_channel, *sentinels], left)
            if not ready:
                who = ", ".join(self._named(number) for number in workers)
                self.close()
                raise WorkerTimeoutError(f"no batch came within timeout={timeout} seconds from {who}")
            channels = [each for each in ready if isinstance(each, Channel)]
            worker = by_channel[channels[0]] if channels else sentinels[ready[0]]
            channel: Any = self._channels[worker]
            if not channels and not wait([channel], 0):  # what it sent last may have come since
                raise self._dead(worker)
            try:
                answer: Answer = channel.receive()
            except (EOFError, ConnectionResetError):
                raise self._dead(worker) from None
            self._answered = True
            if answer.run == self.run:
                return worker, self._checked(worker, answer)

    def _checked(self, worker: int, answer: Answer) -> Answer:
        if isinstance(answer.value, Failure):
            raise answer.value.exception(self._named(worker))
        return answer

    def _named(self, worker: int) -> str:
        return f"worker {worker} (pid {self._processes[worker].pid})"

    def _dead(self, worker: int) -> WorkerError:
        process = self._processes[worker]
        process.join(_ENDING)
        name, code = self._named(worker), process.exitcode
        if code is None:
            how = "closed its connection"
        elif code < 0:
            how = f"was killed by signal {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += ", which is also what the system does when memory runs out"
        else:
            how = f"ended with exit code {code}"
        if not self._answered and self._method != "fork":
            how += (
                f"; a program whose workers are started by {self._method!r} must stand under "
                "`if __name__ == '__main__':`, since each worker imports it"
            )
        self.close()
        return WorkerError(f"{name} of the loader {how}")


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return str(number)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """A child started here is not interrupted before it has said that it ignores interrupts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with warnings.catch_warnings():
            # treadle's threads survive a fork; the user has asked for one
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _shut_down(processes: list[Any], channels: list[Channel], owner: int) -> None:
    if os.getpid() != owner:  # a fork of the main process, whose workers these are not
        return
    for channel in channels:
        channel.close()
    end = time.monotonic() + _ENDING
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
        if process.exitcode is None:
            process.kill()
            process.join()
        with suppress(ValueError):
            process.close()


class ParallelBatches:
    """Has the batches of one pass made ahead: ``ahead`` for each worker, in turn, and given in the order asked for.

    ``batches`` yields (number, indices). Without ``in_order`` whichever is ready comes first.
    """

    def __init__(
        self, pool: WorkerPool, batches: Iterator[tuple[int, Any]], ahead: int, timeout: float, in_order: bool
    ) -> None:
        self._pool = pool
        self._batches = batches
        self._timeout = timeout
        self._in_order = in_order
        self._run = pool.run
        self._working = list(range(pool.size))
        self._turn = 0
        self._asked: deque[int] = deque()  # the worker of each batch that is out
        for _ in range(ahead * pool.size):
            self._ask(self._next_worker())

    def _next_worker(self) -> int:
        worker = self._working[self._turn % len(self._working)]
        self._turn += 1
        return worker

    def _ask(self, worker: int) -> None:
        entry = next(self._batches, None)
        if entry is not None:
            self._pool.ask(worker, *entry)
            self._asked.append(worker)

    def __iter__(self) -> Iterator[Any]:
        while self._asked:
            if self._run != self._pool.run:
                raise WorkerError("a newer pass over the loader has begun, and its persistent workers serve that one")
            workers = [self._asked[0]] if self._in_order else list(dict.fromkeys(self._asked))
            worker, answer = self._pool.answer(workers, self._timeout)
            self._asked.remove(worker)
            if answer.ended:
                self._ended(worker)
                continue
            self._ask(worker)
            yield answer.value

    def _ended(self, worker: int) -> None:
        """This worker's share of an iterable data set is used up; the others go on."""
        if worker in self._working:
            self._working.remove(worker)
