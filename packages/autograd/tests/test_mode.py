"""Grad modes: of the thread, nested, restored."""

import threading

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
