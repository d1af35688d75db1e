"""Hooks around an optimizer's step, with PyTorch's beside them."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from treadle import optim
from treadle.autograd import Tensor


def ours() -> Any:
    return optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.1)


def theirs() -> Any:
    torch = pytest.importorskip("torch")
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)


def log(make: Callable[[], Any]) -> list[Any]:
    """What hooks see: their order, arguments and keywords; pre hooks may change the closure."""
    optimizer, seen = make(), []

    def hook(name: str, result: Any = None) -> Callable[..., Any]:
        def called(given: Any, args: Any, kwargs: Any) -> Any:
            seen.append((name, given is optimizer, args[0] is optimizer, len(args), sorted(kwargs)))
            return result

        return called

    optimizer.register_step_post_hook(hook("after", 3))
    first = optimizer.register_step_pre_hook(hook("first"))
    optimizer.register_step_pre_hook(hook("second"))
    results = [optimizer.step(), optimizer.step(lambda: 1.0), optimizer.step(closure=lambda: 2.0)]
    first.remove()
    first.remove()
    changing = optimizer.register_step_pre_hook(hook("changing", ((optimizer,), {"closure": lambda: 3.0})))
    results.append(optimizer.step(lambda: 1.0))
    changing.remove()
    optimizer.register_step_pre_hook(hook("wrong", 4))
    with pytest.raises(RuntimeError, match="None or"):
        optimizer.step()
    return [seen, results]


def test_hooks_are_called_as_pytorch_calls_them() -> None:
    assert log(ours) == log(theirs)


def test_one_optimizer_alone_has_the_hooks_and_stays_what_it_is() -> None:
    calls: list[int] = []
    optimizer, other = ours(), ours()
    with optimizer.register_step_pre_hook(lambda *given: calls.append(len(given))):
        other.step()
        assert calls == []
        optimizer.step()
        copy.deepcopy(optimizer).step()
        assert calls == [3, 3]
        assert repr(optimizer) == repr(other)
        assert isinstance(optimizer, optim.SGD) and type(optimizer).__name__ == "SGD"
        other.load_state_dict(optimizer.state_dict())
    optimizer.step()
    assert calls == [3, 3]
    with pytest.raises(TypeError, match="callable"):
        other.register_step_post_hook(3)


def test_hooks_reach_a_step_of_ones_own() -> None:
    class Own(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return "own"

    optimizer, calls = Own([Tensor([1.0], requires_grad=True)], lr=0.1), []
    handle = optimizer.register_step_post_hook(lambda *given: calls.append("after"))
    optimizer.register_step_pre_hook(lambda *given: handle.remove())
    assert (optimizer.step(), optimizer.step(), calls) == ("own", "own", [])


def test_an_error_of_the_step_keeps_post_hooks_from_being_called() -> None:
    optimizer, calls = ours(), []
    optimizer.register_step_post_hook(lambda *given: calls.append("after"))
    with pytest.raises(KeyError):
        optimizer.step(lambda: {}["missing"])
    assert calls == []


CALLS: list[str] = []


def named_hook(optimizer: Any, args: Any, kwargs: Any) -> None:
    CALLS.append(type(optimizer).__name__)


def test_an_optimizer_with_hooks_can_be_pickled() -> None:
    optimizer = ours()
    handle = optimizer.register_step_pre_hook(named_hook)
    other = pickle.loads(pickle.dumps(optimizer))
    handle.remove()
    optimizer.step()
    other.step()
    assert CALLS == ["SGD"] and isinstance(other, optim.SGD)
