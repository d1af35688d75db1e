"""Grad modes: of the thread, nested, restored."""

import asyncio
import copy
import inspect
import pickle
import threading
import weakref
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

import treadle.autograd as ag


def _records() -> bool:
    return (ag.Tensor([1.0], requires_grad=True) * 2).requires_grad


def test_nesting_and_decorators() -> None:  # pytorch/pytorch#20528
    assert _records()
    with ag.no_grad():
        assert not _records() and not ag.is_grad_enabled()
        with ag.enable_grad():
            assert _records()
        assert not _records()
        with ag.set_grad_enabled(True):
            assert _records()
    assert _records()
    assert not ag.no_grad()(_records)() and _records()


def test_result_without_graph_is_a_constant_leaf() -> None:
    x = ag.Tensor([1.0], requires_grad=True)
    with ag.no_grad():
        y = x * 2
    assert y.is_leaf and y.op is None and not y.requires_grad
    assert x.requires_grad


def test_restored_after_an_exception() -> None:  # pytorch/pytorch#20528
    def fail() -> None:
        raise KeyError

    with pytest.raises(KeyError), ag.no_grad():
        fail()
    assert _records()
    with pytest.raises(KeyError), ag.no_grad(), ag.enable_grad():
        fail()
    assert _records()


def test_one_object_may_be_entered_again() -> None:
    mode = ag.no_grad()
    with mode:
        with mode:
            assert not _records()
        assert not _records()
    assert _records()


def test_mode_belongs_to_the_thread() -> None:  # pytorch/pytorch#20528
    inside, done = threading.Event(), threading.Event()
    seen: list[bool] = []

    def other() -> None:
        with ag.no_grad():
            inside.set()
            done.wait(10)
            seen.append(_records())

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    assert _records()
    done.set()
    thread.join()
    assert seen == [False] and _records()


def test_one_object_serves_two_threads() -> None:
    mode = ag.no_grad()
    entered, left = threading.Event(), threading.Event()
    seen: list[bool] = []

    def other() -> None:
        with ag.no_grad():
            with mode:
                entered.set()
                left.wait(10)
            seen.append(_records())
        seen.append(_records())

    thread = threading.Thread(target=other)
    with mode:
        thread.start()
        assert entered.wait(10)
    assert _records()
    left.set()
    thread.join()
    assert seen == [False, True] and _records()


def test_a_decorated_generator_has_the_mode_in_each_of_its_steps_only() -> None:  # pytorch/pytorch#17822
    seen: list[object] = []

    @ag.no_grad()
    def steps(count: int) -> Generator[int, str, str]:
        for step in range(count):
            assert not ag.is_grad_enabled()
            try:
                seen.append((yield step))
            except ValueError as error:
                seen.append(error)
            except GeneratorExit:
                seen.append(("closed", ag.is_grad_enabled()))
                raise
        return "end"

    running = steps(3)
    assert next(running) == 0
    assert ag.is_grad_enabled()
    assert running.send("sent") == 1
    thrown = ValueError("thrown")
    assert running.throw(thrown) == 2
    with pytest.raises(StopIteration) as stopped:
        next(running)
    assert stopped.value.value == "end"
    assert seen == ["sent", thrown, None]
    running = steps(2)
    next(running)
    running.close()
    assert seen[-1] == ("closed", False)
    assert ag.is_grad_enabled()


def test_one_block_serves_nested_calls_and_threads_at_once() -> None:
    block = ag.no_grad()
    with block:
        with ag.enable_grad(), block:
            assert not ag.is_grad_enabled()
        worker = threading.Thread(target=block.__enter__)  # never left there
        worker.start()
        worker.join()
        assert not ag.is_grad_enabled()
    assert ag.is_grad_enabled()
    with pytest.raises(RuntimeError, match="has not entered"):
        block.__exit__(None, None, None)


def test_a_decorator_without_parentheses_says_so() -> None:
    for block in (ag.no_grad, ag.enable_grad):
        with pytest.raises(TypeError, match=rf"@{block.__name__}\(\), with parentheses"):
            block(lambda x: x)  # type: ignore[arg-type]


def test_set_grad_enabled_by_itself_stays_in_force() -> None:
    with ag.enable_grad():
        ag.set_grad_enabled(False)
        assert not _records()
        with ag.set_grad_enabled(True):
            assert _records()
        assert not _records()
        ag.set_grad_enabled(True)
        assert _records()
        ag.set_grad_enabled(False)
    assert _records()  # the block gives back what was outside of it
    with ag.inference_mode():
        ag.set_grad_enabled(True)
        assert not _records()
    assert _records()


def test_set_grad_enabled_made_before_its_block_or_as_a_decorator() -> None:
    mode = ag.set_grad_enabled(False)
    assert not _records()
    with pytest.raises(KeyError), mode:
        raise KeyError
    assert _records()
    with mode, mode:
        assert not _records()
    assert _records()
    decorated = ag.set_grad_enabled(False)(_records)
    assert _records() and not decorated() and _records()
    with ag.no_grad():
        inner = ag.set_grad_enabled(True)
        assert _records()
        with ag.no_grad():
            with inner:
                assert _records()
            assert not _records()  # of the block it was entered in, not of that where it was made
        assert _records()
    assert _records()
    outer = ag.set_grad_enabled(False)
    with ag.no_grad():
        with outer:
            assert not _records()
        assert not _records()  # made where ops recorded, but not in this block
    ag.set_grad_enabled(True)
    assert _records()


def test_set_grad_enabled_by_itself_belongs_to_the_thread() -> None:
    seen: list[bool] = []
    mode = ag.set_grad_enabled(False)

    def other() -> None:
        seen.append(_records())
        with mode:
            seen.append(_records())
        seen.append(_records())
        ag.set_grad_enabled(False)
        seen.append(_records())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [True, False, True, False] and not _records()
    ag.set_grad_enabled(True)
    assert _records()


def test_set_grad_enabled_by_itself_in_a_decorated_generator_ends_with_the_step() -> None:
    @ag.enable_grad()
    def steps() -> Generator[bool, None, None]:
        ag.set_grad_enabled(False)
        yield _records()
        yield _records()

    running = steps()
    assert (next(running), _records(), next(running)) == (False, True, True)


def test_a_block_can_be_copied_as_an_attribute_of_a_module() -> None:
    with ag.set_grad_enabled(False) as made_inside:
        assert made_inside is None
        stored = pickle.dumps(ag.set_grad_enabled(False))
    for made in (copy.deepcopy(ag.no_grad()), pickle.loads(stored)):
        with made:
            assert not _records()
    assert _records()


def test_decorated_functions_stay_of_their_kind() -> None:
    @ag.no_grad()
    def steps() -> Generator[bool, None, None]:
        yield _records()

    @ag.no_grad()
    async def waits() -> bool:
        await asyncio.sleep(0)
        return _records()

    @ag.no_grad()
    async def both() -> AsyncGenerator[bool, None]:
        yield _records()
        await asyncio.sleep(0)
        try:
            yield _records()
        finally:
            seen.append(_records())

    async def run() -> list[bool]:
        stream = both()
        found = [await waits(), await anext(stream), _records(), await anext(stream)]
        await stream.aclose()
        return found

    seen: list[bool] = []
    assert inspect.isgeneratorfunction(steps) and inspect.iscoroutinefunction(waits)
    assert inspect.isasyncgenfunction(both)
    assert list(steps()) == [False] and asyncio.run(run()) == [False, False, True, False] and seen == [False]


def test_decorated_generators_keep_nothing_alive() -> None:
    class Batch:
        pass

    @ag.no_grad()
    def steps(batch: Batch) -> Generator[Batch, None, None]:
        yield batch
        yield Batch()

    batch = Batch()
    given, running = weakref.ref(batch), steps(batch)
    next(running)
    made = weakref.ref(next(running))
    assert made() is None
    running.close()
    del running, batch
    assert given() is None  # without the cycle collector


@pytest.mark.parametrize("mode", [ag.inference_mode, ag.lazy, ag.set_grad_enabled])
def test_a_mode_with_a_flag_says_so_too(mode: Any) -> None:
    with pytest.raises(TypeError, match="with parentheses"):
        mode(_records)
    with pytest.raises(TypeError, match="decorates functions, not a int"):
        mode(False)(3)
