"""Copies of tensors: shallow, deep, pickled, and onto other devices and dtypes."""

import copy
import itertools
import multiprocessing
import pickle
from typing import Any

import pytest

import treadle.autograd as ag
import treadle.ndarray as nd


class Labelled(ag.Tensor):
    """A subclass with attributes of its own, as libraries above make."""

    def __init__(self, data: object, labels: list[str]) -> None:
        super().__init__(data, requires_grad=True, name="labelled")
        self.labels = labels
        self.others: list[ag.Tensor] = []


def test_deepcopy_of_leaves(device: str) -> None:
    x = ag.Tensor([1.0], requires_grad=True, name="x")
    (x * 3).backward()
    twin = copy.deepcopy(x)
    twin.data[0] = 7.0
    assert x.item() == 1.0 and twin.requires_grad and twin.name == "x" and twin.device == device
    assert twin.grad is not None and twin.grad.item() == 3.0 and twin.grad is not x.grad
    assert x.grad is not None
    twin.grad.data[0] = 9.0
    assert x.grad.item() == 3.0
    (twin * 2).backward()
    assert x.grad.item() == 3.0 and twin.grad.item() == 11.0


def test_deepcopy_keeps_what_is_shared() -> None:
    w = Labelled([1.0, 2.0], ["a"])
    first, second = copy.deepcopy([w, w])
    assert first is second and type(first) is Labelled
    first.labels.append("b")
    assert w.labels == ["a"] and first.tolist() == [1.0, 2.0] and first.requires_grad


def test_deepcopy_of_a_tensor_that_refers_to_itself() -> None:
    w = Labelled([1.0], [])
    w.others = [w]
    twin = copy.deepcopy(w)
    assert twin.others[0] is twin


def test_shallow_copies_share_memory_and_attributes() -> None:
    w = Labelled([1.0, 2.0], ["a"])
    (w * w).sum().backward()
    twin = copy.copy(w)
    assert type(twin) is Labelled and twin.labels is w.labels and twin.grad is None and twin.name == "labelled"
    twin.data[0] = 5.0
    assert w.tolist() == [5.0, 2.0]
    twin.others = [w]
    assert w.others == []
    (twin * 3).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_leaves(protocol: int, device: str) -> None:
    x = ag.Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="x", dtype="float64")
    (x * x).sum().backward()
    twin = pickle.loads(pickle.dumps(x, protocol))
    assert twin.tolist() == x.tolist() and twin.dtype is nd.float64 and twin.device == device
    assert twin.requires_grad and twin.is_leaf and twin.name == "x" and twin.grad is None
    labelled = pickle.loads(pickle.dumps(Labelled([1.0], ["a"]), protocol))
    assert type(labelled) is Labelled and labelled.labels == ["a"] and labelled.requires_grad
    integers = pickle.loads(pickle.dumps(ag.Tensor([1, 2]), protocol))
    assert integers.tolist() == [1, 2] and not integers.requires_grad


def _doubled(x: ag.Tensor) -> ag.Tensor:
    return (x * 2.0).detach()


def test_leaves_travel_to_worker_processes() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_doubled, (ag.Tensor([1.0, 2.0], requires_grad=True),)).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
def test_results_are_refused_with_the_line_that_built_them(make: Any) -> None:
    y = ag.Tensor([1.0, 2.0], requires_grad=True) * 2
    with pytest.raises(ag.GradientError, match=r"Multiply\(right=2\), built at .*test_copying.py:\d+.*detach\(\)"):
        make(y)
    assert copy.deepcopy(y.detach()).tolist() == [2.0, 4.0]


def _devices() -> list[str]:
    found = ["cpu", "numpy"]
    try:
        nd.zeros(1, device="cuda_emulated")
    except (nd.DeviceError, ImportError):
        return found
    return [*found, "cuda_emulated"]


@pytest.mark.parametrize(("here", "there"), list(itertools.product(_devices(), repeat=2)))
def test_gradients_travel_between_devices_and_dtypes(here: str, there: str) -> None:
    x = ag.Tensor([0.5, -1.25, 2.0], requires_grad=True, dtype="float64", device=here)
    assert x.to(here) is x and x.to(dtype="float64") is x and x.to(nd.float64) is x and x.to() is x
    assert x.to(nd.float32).dtype is x.to(x.to(nd.float32)).dtype is x.to(nd.float32, here).dtype is nd.float32
    y = x.to(there, "float32")
    assert y.device == there and y.dtype is nd.float32
    (y * y).sum().backward()
    assert x.grad is not None and x.grad.device == here and x.grad.dtype is nd.float64
    assert x.grad.tolist() == [1.0, -2.5, 4.0]
    ag.gradcheck(lambda x: (x.to(there) * ag.exp(x).to(there)).to(here) * x, [x])
    (first,) = ag.grad(ag.sum(x.to(there) ** 3), x, create_graph=True)
    assert first is not None
    (second,) = ag.grad(ag.sum(first), x)
    assert second is not None and second.device == here and second.tolist() == [3.0, -7.5, 12.0]
