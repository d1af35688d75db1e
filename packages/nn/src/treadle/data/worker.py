"""A worker process of a loader: it fetches the batches that it is asked for.

It listens in a thread, so that it learns at once when the main process has ended or wants nothing more, and so that the
main process never waits for it when it sends.
"""

import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import treadle.ndarray as nd
from treadle.data.failures import failure_of
from treadle.data.fetching import Fetcher
from treadle.data.seeding import generators_in, mixed, seed_everything
from treadle.data.transport import Channel
from treadle.data.worker_info import WorkerInfo, get_worker_info, set_worker_info
from treadle.ndarray.random import Generator

__all__ = ["Answer", "Begin", "Task", "WorkerSettings", "run_worker"]

_GRACE = 0.25
"""Seconds in which a worker that is no longer wanted may finish its batch."""
_LOOK = 1.0
"""Seconds between looks for an orphaned worker."""


class Begin(NamedTuple):
    """A new pass over the data; what was asked for in an earlier one is wanted no more."""

    run: int
    base_seed: int


class Task(NamedTuple):
    """Batch ``number`` of a pass, made of the samples at ``indices``."""

    run: int
    number: int
    indices: Any


class Answer(NamedTuple):
    """A batch, a :class:`~treadle.data.failures.Failure`, or nothing more (``ended``)."""

    run: int
    number: int
    value: Any
    ended: bool = False


@dataclass(frozen=True)
class WorkerSettings:
    """What a worker needs beside the data set."""

    id: int
    num_workers: int
    base_seed: int
    init: Callable[[int], Any] | None
    fetcher: Callable[[Any], Fetcher]
    device: str
    strangers: tuple[Any, ...] = ()
    """Ends of channels that a forked worker has inherited and must close."""


def run_worker(channel: Channel, shipment: Any, settings: WorkerSettings) -> None:
    """The life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process ends its workers itself
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for stranger in settings.strangers:
        stranger.close()
    listener = _Listener(channel)
    device = nd.use_device(settings.device)
    device.__enter__()
    own: list[tuple[Generator, int]] = []
    try:
        fetcher, failure = _prepared(shipment, settings), None
        info = get_worker_info()
        own = [(generator, generator.seed) for generator in generators_in(info.dataset if info else None)]
    except Exception as error:
        fetcher, failure = None, failure_of(error)
    while (task := listener.next()) is not None:
        if isinstance(task, Begin):
            if fetcher is not None:
                base_seed = task.base_seed
                fetcher.begin()
        elif task.run == listener.run:
            if fetcher is None:
                answer = Answer(task.run, task.number, failure)
            else:
                answer = _fetched(fetcher, task, mixed(base_seed, task.number), own)
            with suppress(BrokenPipeError, ConnectionResetError):
                _send(channel, answer)


def _prepared(shipment: Any, settings: WorkerSettings) -> Fetcher:
    nd.set_num_threads(1)
    seed = (settings.base_seed + settings.id) % 2**64
    seed_everything(seed)
    dataset = shipment.load()
    set_worker_info(WorkerInfo(settings.id, settings.num_workers, seed, dataset))
    if settings.init is not None:
        settings.init(settings.id)
    return settings.fetcher(dataset)


def _fetched(fetcher: Fetcher, task: Task, seed: int, own: list[tuple[Generator, int]]) -> Answer:
    seed_everything(seed)
    for generator, given in own:
        generator.manual_seed(mixed(seed, given))
    try:
        batch, ended = fetcher.fetch(task.indices)
        return Answer(task.run, task.number, batch, ended)
    except Exception as error:
        return Answer(task.run, task.number, failure_of(error))


def _send(channel: Channel, answer: Answer) -> None:
    try:
        channel.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # a batch that cannot be pickled, or no memory for it
        error.add_note("a batch must be made of what can go to another process: arrays, tensors, plain values")
        channel.send(Answer(answer.run, answer.number, failure_of(error)))


# --- listening -------------------------------------------------------------------------------------------------------
class _Listener:
    """Receives in a thread of its own; ``run`` is the newest pass that was begun."""

    def __init__(self, channel: Channel) -> None:
        self.run = -1
        self._channel = channel
        self._parent = os.getppid()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def next(self) -> Any:
        """The next message; None when there will be none."""
        return self._inbox.get()

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        try:
            while True:
                while not poll.poll(1000 * _LOOK):
                    if os.getppid() != self._parent:
                        raise EOFError
                message = self._channel.receive()
                if isinstance(message, Begin):
                    self.run = message.run
                self._inbox.put(message)
        except (EOFError, OSError):
            pass
        self.run = -2
        self._inbox.put(None)
        time.sleep(_GRACE)
        sys.stderr.flush()
        os._exit(0)
