"""Where values lie: random programs against the same where nothing shares memory, and what lives together is apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library, by_name
from packages.autograd.tests.export.drawing import collect_values

import treadle.autograd as ag
from treadle.autograd.export import SGD, Adam, CSource, Program, arena, c_source, capture, trace, write_c
from treadle.autograd.export.arena import Arena

PROGRAMS = 25
SHAPE = (4, 6)
EXACT = [  # expressions of two values, and of an input where they choose; on small integers every bit is known
    "a + b",
    "a * 3 - b",
    "ag.matrix_transpose(ag.matrix_transpose(a)[::-1])",
    "ag.reshape(ag.reshape(ag.matrix_transpose(a), (-1,)), (4, 6))",
    "ag.reshape(ag.permute_dims(ag.reshape(a, (2, 2, 3, 2)), (1, 0, 3, 2)), (4, 6))",
    "ag.concat([a[:, 3:], b[:, :3]], axis=1)",
    "ag.concat([b[2:], a[:2]], axis=0)",
    "ag.stack([a[0], b[1], a[2], b[3]], axis=0)",
    "ag.split(ag.concat([a, b], axis=1), 2, axis=1)[1]",
    "ag.cumsum(a, axis=1)",
    "ag.where(y > 0, a, b[::-1])",
    "ag.roll(a, 5, axis=1) - ag.sum(b)",
    "ag.set_item(a, (slice(1, 3),), b[2:])",
    "ag.set_item(a, (slice(None), slice(0, 6, 2)), b[:, 1::2])",
    "ag.take(a, ag.astype(ag.argsort(y[:, 0]), 'int64'), axis=0)",
    "ag.maximum(a, a[:1])",
    "ag.minimum(a, b[:, :1])",
    "ag.flip(a, axis=(0, 1))",
    "ag.sort(a, axis=1)",
    "ag.pad(a[1:3], ((1, 1), (0, 0))) + b",
    "ag.repeat(a[:, :3], 2, axis=1)",
    "ag.diagonal(ag.concat([a, b], axis=1)[:, :4]).reshape(4, 1) + b",
    "(a @ ag.matrix_transpose(b)) @ b",
]
ROUNDED = [
    "ag.exp(-ag.square(a))",
    "ag.softmax(a, axis=0) + ag.sum(b, axis=1, keepdims=True)",
    "(a @ ag.matrix_transpose(b)) @ ag.tanh(a) * 0.1",
    "ag.cumsum(a, axis=1) * 0.2",
    "ag.roll(a, 5, axis=1) - ag.mean(b)",
]


def _drawn(steps: list[str]) -> list[str]:
    """The text of random functions of two tensors: steps on values made before, and three of them as results."""
    found = []
    for numbers in collect_values(PROGRAMS, 40):
        lines, names = ["def function(x, y):"], ["x", "y"]
        for at in range(0, 36, 3):
            text = steps[numbers[at] % len(steps)]
            one, other = (names[-1 - each % len(names)] for each in numbers[at + 1 : at + 3])
            lines.append(f"    v{at // 3} = (lambda a, b: ag.astype({text}, y.dtype))({one}, {other})")
            names.append(f"v{at // 3}")
        results = ", ".join(names[-1 - each % len(names)] for each in numbers[36:39])
        found.append("\n".join([*lines, f"    return {results}"]))
    return found


def _made(text: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"ag": ag}
    exec(text, namespace)
    return namespace["function"]


def _apart(kernels: Any, outside: set[int], kept: set[int]) -> Arena:
    """A layout in which no two values share memory."""
    found = Arena({}, 0, [], {})
    for kernel in kernels:
        for value in kernel.writes:
            if id(value) not in outside and not value.is_view:
                found.offsets[id(value)] = found.size
                found.size += -(-max(value.nbytes, 1) // 16) * 16
    return found


def _both_ways(library: Library, at: int, make: Callable[[], Program], monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a program as it is, and so that no value lies where another has been."""
    assert_apart(library.add(f"shared{at}", make()))
    with monkeypatch.context() as patched:
        patched.setattr(c_source, "lay_out", _apart)
        patched.setattr(c_source, "written_to_states", lambda *_: {})
        library.add(f"apart{at}", make())


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_random_programs(dtype: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits wherever values lie; integers are Python's, and numbers within rounding of float64."""
    texts, library = _drawn(EXACT if dtype == "int32" else EXACT + ROUNDED), Library(tmp_path, flags=("-O3",))
    examples = [ag.Tensor(np.full(SHAPE, each, dtype)) for each in (0, 1)]
    for at, text in enumerate(texts):
        _both_ways(library, at, lambda text=text: trace(_made(text), examples), monkeypatch)
    random = np.random.default_rng(0)
    for at, text in enumerate(texts):
        inputs = [(4 * random.normal(size=SHAPE)).astype(dtype) / np.array(4, dtype) for _ in range(2)]
        inputs = [each.astype(dtype) for each in inputs]
        shared, apart = (library.call(f"{kind}{at}", inputs) for kind in ("shared", "apart"))
        assert [each.tobytes() for each in shared] == [each.tobytes() for each in apart], text
        if dtype == "int32":
            python = _made(text)(*[ag.Tensor(each) for each in inputs])
            assert [each.tobytes() for each in shared] == [each.numpy().tobytes() for each in python], text
        else:
            _assert_within_rounding(text, inputs, shared)


def _assert_within_rounding(text: str, inputs: list[np.ndarray], got: list[np.ndarray]) -> None:
    """The error is not beyond what roundings of the inputs alone make of the results in float64."""
    function, random = _made(text), np.random.default_rng(1)
    wide = [each.astype("float64") for each in inputs]
    near = [[each * (1 + 1e-6 * random.normal(size=SHAPE)) for each in wide] for _ in range(3)]
    exact, *moved = ([each.numpy() for each in function(*map(ag.Tensor, given))] for given in (wide, *near))
    for at, (one, better) in enumerate(zip(got, exact, strict=True)):
        size = np.abs(better).max()
        if size < 1e30:
            bound = 1e-4 * size + 20 * max(np.abs(each[at] - better).max() for each in moved)
            assert np.abs(one - better).max() <= bound, text


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "argmax"])
def test_reductions_of_reversed_views(name: str, tmp_path: Any) -> None:
    """GCC 12 at -O3 left elements out of a sum that runs backwards, which is no undefined behaviour."""
    library, x = Library(tmp_path, flags=("-O3",)), np.random.default_rng(0).normal(size=SHAPE).astype("float32")
    views = {"rows": lambda x: x[::-1], "columns": lambda x: x[:, ::-1], "both": lambda x: x[::-1, ::-1] * 2.0}
    for at, view in views.items():
        for axis in (None, 0, 1):
            program = trace(lambda x, view=view, axis=axis: getattr(ag, name)(view(x), axis=axis), [ag.Tensor(x)])
            library.add(f"{at}_{axis}".lower(), program)
    for at, view in views.items():
        for axis in (None, 0, 1):
            wanted = getattr(np, name)(view(x), axis=axis)
            np.testing.assert_allclose(library.call(f"{at}_{axis}".lower(), [x])[0], wanted, rtol=1e-5)


@pytest.mark.parametrize("update", [SGD(0.1, momentum=0.9), Adam()], ids=["SGD", "Adam"])
def test_random_training(update: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are written in place are what they are where the new ones have memory of their own."""
    texts, library = _drawn(EXACT + ROUNDED)[:12], Library(tmp_path, flags=("-O3",))
    examples = [ag.Tensor(np.full(SHAPE, each, "float32")) for each in (0, 1)]
    random = np.random.default_rng(0)
    for at, text in enumerate(texts):
        w = ag.Tensor(random.normal(size=SHAPE).astype("float32"), requires_grad=True)

        def loss(x: ag.Tensor, y: ag.Tensor, text: str = text, w: ag.Tensor = w) -> ag.Tensor:
            return ag.mean(ag.tanh(sum(_made(text)(x * w, y), ag.zeros(SHAPE))))

        def make(loss: Any = loss, w: ag.Tensor = w) -> Program:
            return capture(loss, examples, train=update, parameters={"w": w}, verify=False)

        _both_ways(library, at, make, monkeypatch)
    for at, text in enumerate(texts):
        for _ in range(2):
            inputs = [random.normal(size=SHAPE).astype("float32") for _ in range(2)]
            for kind in ("shared", "apart"):
                library.call(f"{kind}{at}", inputs)
        shared, apart = (by_name(library.states(f"{kind}{at}"), f"{kind}{at}") for kind in ("shared", "apart"))
        assert {name: each.tobytes() for name, each in shared.items()} == {
            name: each.tobytes() for name, each in apart.items()
        }, text


def test_weights_are_updated_where_they_lie() -> None:
    """Nothing is kept of a step of SGD with momentum but what is learned, the velocities, and what is on the way."""
    w = ag.Tensor(np.random.default_rng(0).normal(size=(32, 64)).astype("float32"), requires_grad=True)
    x = ag.Tensor(np.ones((2, 64), "float32"))
    step = write_c(capture(lambda x: ag.mean(ag.square(ag.linear(x, w))), x, train=SGD(0.1, momentum=0.9)), "step")
    assert step.state_bytes == 2 * w.size * 4 and step.arena_bytes < 1024 and "memcpy(" not in step.source


class Odd:
    """A step that reads the old weights, turned or not, and once more after the new ones are known."""

    def __init__(self, turned: bool) -> None:
        self.turned = turned

    def slots(self, parameter: ag.Tensor) -> list[ag.Tensor]:
        return [ag.zeros(parameter.shape), ag.zeros(parameter.shape)]

    def __call__(self, parameter: ag.Tensor, gradient: ag.Tensor, *slots: ag.Tensor) -> list[ag.Tensor]:
        new = ag.exp((ag.flip(parameter, axis=0) if self.turned else parameter) - gradient)
        return [new, ag.cumsum(new, axis=0) + parameter, slots[1] + slots[0] * new]


@pytest.mark.parametrize("turned", [False, True])
def test_old_weights_are_read_before_they_are_overwritten(turned: bool, tmp_path: Any) -> None:
    start = np.array([0.5, -1.0, 0.25], "float32")
    w = ag.Tensor(start, requires_grad=True, name="w")
    library = Library(tmp_path)
    library.add("turn", capture(lambda x: ag.sum(x * w), ag.ones((3,)), train=Odd(turned)))
    x, first, second = np.ones(3, "float32"), np.zeros(3), np.zeros(3)
    for _ in range(3):
        library.call("turn", [x])
        new = np.exp((start[::-1] if turned else start) - x)
        start, first, second = new, np.cumsum(new) + start, second + first * new
    found = by_name(library.states("turn"), "turn")
    for name, wanted in {"w": start, "w_slot0": first, "w_slot1": second}.items():
        np.testing.assert_allclose(found[name], wanted, rtol=1e-5)


def test_a_parameter_that_is_shown_is_shown_as_it_was(tmp_path: Any) -> None:
    """The result is the weight of before the step, so the new one cannot be written there until it has been copied."""
    w = ag.Tensor([1.0, 2.0], requires_grad=True, name="w")
    library = Library(tmp_path)
    function = lambda x: (ag.sum(x * w), w * 1.0, w)  # noqa: E731
    library.add("shown", capture(function, ag.Tensor([1.0, 1.0]), train=SGD(1.0)))
    _, copied, same = library.call("shown", [np.array([0.5, 0.25], "float32")])
    assert copied.tolist() == same.tolist() == [1.0, 2.0]
    assert library.states("shown")["shown_w"].tolist() == [0.5, 1.75]


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


def test_steps_that_differ_in_their_place_only_are_one_function(tmp_path: Any) -> None:
    """Rows of an input, one after another, go through the same code; what is not the same has its own."""
    w = ag.Tensor(np.random.default_rng(0).normal(size=(4, 4)).astype("float32"))

    def function(x: ag.Tensor) -> ag.Tensor:
        h = ag.zeros((1, 4))
        for at in range(6):
            h = ag.tanh(x[at : at + 1] @ w + ag.cumsum(h, axis=1))
        return ag.concat([h, x[5:, ::-1] @ w], axis=1)

    x = np.random.default_rng(1).normal(size=(6, 4)).astype("float32")
    library = Library(tmp_path, ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"))
    written = library.add("rows", trace(function, [ag.Tensor(x)]))
    assert written.steps > 12 and written.source.count("static void") <= 6 and "Called 5 times." in written.source
    np.testing.assert_allclose(library.call("rows", [x])[0], function(ag.Tensor(x)).numpy(), rtol=1e-5)
