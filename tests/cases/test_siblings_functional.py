"""Faults known from others in what takes functions: transformations, modes as decorators, subclasses of tensors."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Generator
from typing import Any, NamedTuple

import numpy as np
import pytest

import treadle.autograd as ag
import treadle.ndarray as nd
import treadle.nn as nn
from treadle.autograd import functional as F

V = ag.Tensor(np.array([1.0, 2.0, 3.0]))
S = ag.Tensor(np.array(2.0))
SINGLE = ag.ones(3)


class Pair(NamedTuple):
    first: Any
    second: Any


# --- has_aux, argnums, tangents ---------------------------------------------------------------------------------------
WRONG_AUX: dict[str, Any] = {
    "a vector": lambda x: x * x,
    "a scalar": lambda x: (x * x).sum(),
    "a tuple of one": lambda x: ((x * x).sum(),),
    "a tuple of three": lambda x: ((x * x).sum(), 1, 2),
    "a list": lambda x: [(x * x).sum(), 1],
    "nothing": lambda x: None,
}


@pytest.mark.parametrize("name", WRONG_AUX)
def test_a_function_with_aux_returns_a_pair(name: str) -> None:
    """jax-ml/jax#1105, jax-ml/jax#5776; never the first element of a vector for the value."""
    for transformation in (F.grad, F.value_and_grad):
        with pytest.raises(nd.DTypeError, match="has_aux"):
            transformation(WRONG_AUX[name], has_aux=True)(V)


def test_what_a_function_returns_beside_its_value_has_left_the_graph() -> None:
    """jax-ml/jax#484: it can be used in another graph."""
    named = F.value_and_grad(lambda x: ((x * x).sum(), Pair(x * 2, x)), has_aux=True)(V)[0][1]
    assert type(named) is Pair and named.first.is_leaf and named.second.is_leaf
    gradient, (inner, text, [both]) = F.grad(lambda x: ((x * x).sum(), (x * 3, "text", [{"x": x}])), has_aux=True)(V)
    assert gradient.tolist() == [2.0, 4.0, 6.0] and text == "text" and both["x"].is_leaf
    w = ag.Tensor(np.ones(3), requires_grad=True)
    (inner * w).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [3.0, 6.0, 9.0]
    second = F.grad(lambda x: F.grad(lambda y: ((y**3).sum(), y), has_aux=True)(x)[0].sum())(V)
    assert second.tolist() == [6.0, 12.0, 18.0]


@pytest.mark.parametrize("argnums", [0.5, "0", None, (0, 0.5), [None], {0}])
def test_argument_numbers_are_integers(argnums: Any) -> None:
    for transformation in (F.grad, F.value_and_grad, F.jacobian):
        with pytest.raises(nd.ArgumentError, match="argnums"):
            transformation(lambda x: x.sum(), argnums)(V)


REFUSED: dict[str, Any] = {
    "list for a tangent": lambda: F.jvp(lambda x: x, [V], [[1.0, 2.0, 3.0]]),  # type: ignore[list-item]
    "array for a tangent": lambda: F.hvp(lambda x: (x * x).sum(), [V], [np.ones(3)]),  # type: ignore[list-item]
    "tangent of another dtype": lambda: F.jvp(lambda x: x, [V], [SINGLE]),
    "tangent of another shape": lambda: F.hvp(lambda x: x.sum(), [V], [S]),
    "no sequence": lambda: F.jvp(lambda x: x, V, V),  # type: ignore[arg-type]
    "array for a gradient": lambda: F.vjp(lambda x: x * x, V)[1](np.ones(3)),  # type: ignore[arg-type]
    "gradient of another dtype": lambda: F.vjp(lambda x: x * x, V)[1](SINGLE),
    "gradient of a constant's shape": lambda: F.vjp(lambda x: S, V)[1](V),
    "gradient of an index": lambda: F.grad(lambda x: ag.argmax(x))(V),
    "jacobian of an order": lambda: F.jacobian(lambda x: ag.argsort(x))(V),
    "a number for outputs": lambda: ag.grad(3.0, V),  # type: ignore[arg-type]
    "nothing for inputs": lambda: ag.grad(V.sum(), None),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_tensor_of_the_right_kind_is_refused(name: str) -> None:
    with pytest.raises((nd.DTypeError, nd.ShapeError)):
        REFUSED[name]()


# --- modes as decorators ----------------------------------------------------------------------------------------------
MODES: dict[str, tuple[Any, Any]] = {
    "no_grad": (ag.no_grad, ag.is_grad_enabled),
    "set_grad_enabled": (lambda: ag.set_grad_enabled(False), ag.is_grad_enabled),
    "inference_mode": (ag.inference_mode, ag.is_inference_mode_enabled),
    "lazy": (ag.lazy, ag.is_lazy),
}


@pytest.mark.parametrize("name", MODES)
def test_decorated_generators_run_in_the_mode_and_their_callers_do_not(name: str) -> None:
    """pytorch/pytorch#31497, pytorch/pytorch#48713: through send, throw, close, return, and an exception."""
    mode, state = MODES[name]
    usual = state()
    seen: list[Any] = []

    @mode()  # type: ignore[untyped-decorator]
    def body() -> Generator[Any, Any, str]:
        seen.append(state())
        try:
            sent = yield state()
            seen.append(sent)
            yield state()
        except KeyError:
            yield state()
        finally:
            seen.append(state())
        return "returned"

    first = body()
    assert next(first) is not usual and state() is usual and first.send(7) is not usual and state() is usual
    with pytest.raises(StopIteration) as stop:
        next(first)
    assert stop.value.value == "returned" and seen == [not usual, 7, not usual] and state() is usual
    second = body()
    next(second)
    assert second.throw(KeyError()) is not usual and state() is usual
    second.close()
    assert seen[-1] is not usual and state() is usual
    third = body()
    next(third)
    with pytest.raises(ZeroDivisionError):
        third.throw(ZeroDivisionError())
    assert state() is usual
    with mode():
        assert next(body()) is state() is not usual


@pytest.mark.parametrize("name", MODES)
def test_decorated_coroutines_run_in_the_mode_and_others_do_not(name: str) -> None:
    """The same where many tasks share one thread."""
    mode, state = MODES[name]
    usual = state()

    @mode()  # type: ignore[untyped-decorator]
    async def decorated() -> list[bool]:
        before = state()
        await asyncio.sleep(0)
        return [before, state()]

    async def plain() -> list[bool]:
        seen = []
        for _ in range(4):
            seen.append(state())
            await asyncio.sleep(0)
        return seen

    async def both() -> Any:
        return await asyncio.gather(decorated(), plain(), decorated())

    inside, outside, again = asyncio.run(both())
    assert inside == again == [not usual] * 2 and outside == [usual] * 4


def test_decorated_asynchronous_generators_run_in_the_mode() -> None:
    ended: list[str] = []

    @ag.no_grad()
    async def decorated() -> AsyncGenerator[bool, float]:
        try:
            given = yield ag.is_grad_enabled()
            await asyncio.sleep(0)
            yield ag.is_grad_enabled() or given != 2.0
        finally:
            ended.append("mode" if not ag.is_grad_enabled() else "none")

    async def steps() -> list[bool]:
        stepped = decorated()
        found = [await anext(stepped), ag.is_grad_enabled(), await stepped.asend(2.0), ag.is_grad_enabled()]
        await stepped.aclose()
        return found + [each async for each in decorated()][:1]

    assert asyncio.run(steps()) == [False, True, False, True, False] and ended == ["mode", "mode"]


def test_a_decorated_generator_that_is_closed_leaves_no_cycle() -> None:
    @ag.no_grad()
    def decorated() -> Generator[int, None, None]:
        yield 1
        yield 2

    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            next(steps := decorated())
            steps.close()
            del steps
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_decorated_function_in_a_block_leaves_the_block_as_it_was() -> None:
    """pytorch/pytorch#10858"""
    function = ag.no_grad()(lambda: ag.is_grad_enabled())
    with ag.no_grad():
        assert not function() and not ag.is_grad_enabled()
    assert ag.is_grad_enabled()


# --- subclasses -------------------------------------------------------------------------------------------------------
def test_subclasses_of_tensors_have_no_other_attributes_either() -> None:
    """pytorch/pytorch#21763, pytorch/pytorch#1126: hasattr and getattr with a default ask for what is not there."""

    class Labelled(ag.Tensor):
        pass

    for tensor in (ag.Tensor([1.0]), Labelled([1.0]), nn.Linear(2, 2).weight):
        assert not hasattr(tensor, "absent") and getattr(tensor, "absent", 5) == 5
        with pytest.raises(AttributeError, match="absent"):
            _ = tensor.absent  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match=r"treadle\.autograd"):
            tensor.exp()  # type: ignore[attr-defined]
