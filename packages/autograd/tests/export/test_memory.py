"""Where values lie: random programs against the same where nothing shares memory, and what lives together is apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library
from packages.autograd.tests.export.drawing import collect_values

import treadle.autograd as ag
import treadle.ndarray as nd
from treadle.autograd.export import CSource, arena, trace, write_c
from treadle.autograd.export.arena import Arena

PROGRAMS = 25
SHAPE = (4, 6)
STEPS: list[Callable[..., Any]] = [  # of two values, and of an input where they choose
    lambda a, b, y: a + b,
    lambda a, b, y: ag.exp(-ag.square(a)),
    lambda a, b, y: a * 0.5 - b,
    lambda a, b, y: ag.matrix_transpose(ag.matrix_transpose(a)[::-1]),
    lambda a, b, y: ag.reshape(ag.reshape(ag.matrix_transpose(a), (-1,)), SHAPE),
    lambda a, b, y: ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True),
    lambda a, b, y: ag.concat([a[:, 3:], b[:, :3]], axis=1),
    lambda a, b, y: (a @ ag.matrix_transpose(b)) @ ag.tanh(a) * 0.1,
    lambda a, b, y: ag.cumsum(a, axis=1) * 0.2,
    lambda a, b, y: ag.where(y > 0, a, b[::-1]),
    lambda a, b, y: ag.roll(a, 5, axis=1) - ag.mean(b),
    lambda a, b, y: ag.set_item(a, (slice(1, 3),), b[2:]),
    lambda a, b, y: ag.take(a, ag.astype(ag.argsort(y[:, 0]), "int64"), axis=0),
    lambda a, b, y: ag.maximum(a, a[:1]),
    lambda a, b, y: ag.flip(a, axis=(0, 1)),
    lambda a, b, y: ag.sort(a, axis=1),
]


def _program(choices: list[tuple[int, int, int]], results: list[int]) -> Callable[..., Any]:
    """A callable of two tensors: steps on values made before, chosen by numbers. With ``largest`` it gives the
    largest magnitude of all of them instead of its results."""

    def function(x: ag.Tensor, y: ag.Tensor, largest: bool = False) -> Any:
        made = [x, y]
        for step, one, other in choices:
            made.append(STEPS[step % len(STEPS)](made[one % len(made)], made[other % len(made)], y))
        if largest:
            return max(float(np.abs(each.numpy()).max()) for each in made)
        return tuple(made[each % len(made)] for each in results)

    return function


def _apart(kernels: Any, outside: set[int], kept: set[int]) -> Arena:
    """A layout in which no two values share memory."""
    found = Arena({}, 0, [], {})
    for kernel in kernels:
        for value in kernel.writes:
            if id(value) not in outside and not value.is_view:
                found.offsets[id(value)] = found.size
                found.size += -(-max(value.nbytes, 1) // 16) * 16
    return found


def _drawn() -> list[Callable[..., Any]]:
    found = []
    for numbers in collect_values(PROGRAMS, 40):
        steps = [(numbers[at], numbers[at + 1], numbers[at + 2]) for at in range(0, 36, 3)]
        found.append(_program(steps, numbers[36:39]))
    return found


def test_random_programs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    functions, library = _drawn(), Library(tmp_path, flags=("-O3",))
    examples = [ag.Tensor(np.zeros(SHAPE, "float32")), ag.Tensor(np.ones(SHAPE, "float32"))]
    for at, function in enumerate(functions):
        written = library.add(f"shared{at}", trace(function, examples))
        assert_apart(written)
    from treadle.autograd.export import c_source

    with monkeypatch.context() as patched:
        patched.setattr(c_source, "lay_out", _apart)
        for at, function in enumerate(functions):
            library.add(f"apart{at}", trace(function, examples))
    random = np.random.default_rng(0)
    for at, function in enumerate(functions):
        inputs = [random.normal(size=SHAPE).astype("float32") for _ in range(2)]
        tensors = [ag.Tensor(nd.asarray(each)) for each in inputs]
        tame = function(*tensors, largest=True) < 100  # beyond, roundings grow from step to step
        for one, other, python in zip(
            library.call(f"shared{at}", inputs), library.call(f"apart{at}", inputs), function(*tensors), strict=True
        ):
            assert one.tobytes() == other.tobytes()
            if tame:
                np.testing.assert_allclose(one, python.numpy(), rtol=1e-3, atol=1e-3)


def assert_apart(written: CSource) -> None:
    """No two values that live at the same time overlap, and each lies within the arena."""
    lives = written.arena.lives
    for at, one in enumerate(lives):
        assert one.offset >= 0 and one.offset + one.size <= written.arena_bytes and one.offset % arena.ALIGNMENT == 0
        assert one.size >= one.value.nbytes
        for other in lives[at + 1 :]:
            together = one.first <= other.last and other.first <= one.last
            overlap = one.offset < other.offset + other.size and other.offset < one.offset + one.size
            assert not (together and overlap), (one, other)


def test_a_chain_takes_two_buffers() -> None:
    """Matrix products in a row need two values at a time, however many there are."""
    w = ag.Tensor(np.random.default_rng(0).normal(size=(64, 64)).astype("float32"))

    def chain(x: ag.Tensor) -> ag.Tensor:
        for _ in range(6):
            x = ag.tanh(x @ w)
        return x

    written = write_c(trace(chain, [ag.Tensor(np.ones((1, 64), "float32"))]), "chain")
    assert written.arena_bytes == 2 * 64 * 4
    assert_apart(written)


def test_an_elementwise_step_writes_over_its_operand() -> None:
    def function(x: ag.Tensor) -> ag.Tensor:
        y = ag.cumsum(x, axis=0)
        z = ag.exp(y) + 1.0
        return ag.cumsum(z, axis=0)[::-1]

    written = write_c(trace(function, [ag.Tensor(np.ones((8, 8), "float32"))]), "over")
    assert written.arena.overwritten and written.arena_bytes <= 2 * 8 * 8 * 4
