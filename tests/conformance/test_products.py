"""tensordot, vecdot, dot, kron, outer and einsum on every device, against NumPy."""

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import treadle.ndarray as nd
from comparison import assert_same
from strategies import DEVICES, operands

each_device = pytest.mark.parametrize("device", DEVICES)
KINDS = st.sampled_from(["int32", "int64", "uint8", "float32", "float64"])
WHOLE = (-4.0, 4.0)


def whole(data: st.DataObject, dtype: str, shape: tuple[int, ...]) -> Any:
    """An operand of whole numbers, whose sums of products are exact in every dtype and order."""
    low = 0.0 if dtype == "uint8" else WHOLE[0]
    operand = data.draw(operands(dtype, shape, (low, WHOLE[1]), lambda value: value in (0.0, 1.0)))
    operand.base[...] = np.round(operand.base) if dtype.startswith("float") else operand.base
    return operand


EINSUMS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ji,jk->ki", [(3, 2), (3, 4)]),
    ("i,i->", [(5,), (5,)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,i->i", [(3,), (3,)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("ii->", [(3, 3)]),
    ("iij->j", [(3, 3, 2)]),
    ("iii->i", [(2, 2, 2)]),
    ("ijk->kji", [(2, 3, 4)]),
    ("ba", [(2, 3)]),
    ("ijk->j", [(2, 3, 4)]),
    ("ijk->", [(2, 3, 4)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...ij,jk", [(2, 3, 4), (4, 2)]),
    ("i...->...", [(2, 3, 4)]),
    ("...", [(2, 3)]),
    ("...,...->...", [(2, 3), (3,)]),
    ("a...b,b...->a...", [(2, 3, 4), (4, 3)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ij,kj,lj->ikl", [(2, 3), (4, 3), (2, 3)]),
    ("ij,ij,ij->", [(2, 3), (2, 3), (2, 3)]),
    ("ij,k->ij", [(2, 3), (4,)]),
    ("ij,ij->j", [(1, 3), (4, 3)]),
    ("ij,j->i", [(2, 3), (1,)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    ("i,ij->ij", [(0,), (0, 3)]),
    ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    (",ij->ij", [(), (2, 2)]),
    (" i j , j k -> i k ", [(2, 3), (3, 2)]),
]


@each_device
@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS)
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=15)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]], device: str, data: st.DataObject) -> None:
    dtype = data.draw(KINDS)
    drawn = [whole(data, dtype, shape) for shape in shapes]
    hypothesis.note(f"nd.einsum({subscripts!r}, {', '.join(each.code(device) for each in drawn)})")
    expected = np.einsum(subscripts, *(each.numpy() for each in drawn))
    assert_same(nd.einsum(subscripts, *(each.array(device) for each in drawn)), np.asarray(expected), zero_signs=False)


@each_device
def test_einsum_of_booleans_and_views(device: str) -> None:
    x = np.array([[True, True], [False, True]])
    array = nd.asarray(x, device=device, copy=True)
    assert_same(nd.einsum("ij,jk->ik", array, array), np.einsum("ij,jk->ik", x, x))
    diagonal = nd.einsum("ii->i", nd.asarray([[1, 2], [3, 4]], device=device))
    assert diagonal.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ij->ij", [(2, 3, 4)]),
        ("ij", [(2,)]),
        ("ii->i", [(2, 3)]),
        ("ij,jk->ik", [(2, 3)]),
        ("i->j", [(2,)]),
        ("i->ii", [(2,)]),
        ("i1->i", [(2, 2)]),
        ("i->i-", [(2,)]),
    ],
)
def test_einsum_refuses_what_does_not_fit(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(nd.ShapeError, match="einsum"):
        nd.einsum(subscripts, *(nd.ones(shape) for shape in shapes))


@each_device
@hypothesis.given(data=st.data())
def test_tensordot(device: str, data: st.DataObject) -> None:
    dtype = data.draw(KINDS)
    left, right, shared = (data.draw(st.lists(st.integers(0, 3), max_size=2)) for _ in range(3))
    x, y = whole(data, dtype, (*left, *shared)), whole(data, dtype, (*shared, *right))
    hypothesis.note(f"nd.tensordot({x.code(device)}, {y.code(device)}, axes={len(shared)})")
    expected = np.asarray(np.tensordot(x.numpy(), y.numpy(), axes=len(shared)))
    assert_same(nd.tensordot(x.array(device), y.array(device), axes=len(shared)), expected, zero_signs=False)
    lists = (list(range(-len(shared), 0)), list(range(len(shared))))
    assert_same(nd.tensordot(x.array(device), y.array(device), axes=lists), expected, zero_signs=False)


@each_device
@hypothesis.given(data=st.data())
def test_vecdot(device: str, data: st.DataObject) -> None:
    dtype, n = data.draw(KINDS), data.draw(st.integers(0, 5))
    axis = data.draw(st.sampled_from([-1, -2]))
    shapes = [(3, n), (1, n), (2, 3, n)] if axis == -1 else [(n, 3), (n, 1), (2, n, 3)]
    x, y = (whole(data, dtype, data.draw(st.sampled_from(shapes))) for _ in range(2))
    hypothesis.note(f"nd.vecdot({x.code(device)}, {y.code(device)}, axis={axis})")
    expected = np.sum(x.numpy() * y.numpy(), axis=axis, dtype=dtype)
    assert_same(nd.vecdot(x.array(device), y.array(device), axis=axis), expected, zero_signs=False)


@each_device
@pytest.mark.parametrize("shapes", [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3), (5, 3, 4))])
@hypothesis.given(data=st.data())
@hypothesis.settings(max_examples=15)
def test_dot_and_kron(shapes: Any, device: str, data: st.DataObject) -> None:
    x, y = (whole(data, "float64", shape) for shape in shapes)
    for function in ("dot", "kron"):
        expected = np.asarray(getattr(np, function)(x.numpy(), y.numpy()))
        assert_same(getattr(nd, function)(x.array(device), y.array(device)), expected, zero_signs=False)


@each_device
def test_products_refuse_what_does_not_fit(device: str) -> None:
    def ones(*shape: int) -> nd.NDArray:
        return nd.ones(shape, device=device)

    calls: list[Callable[[], Any]] = [
        lambda: nd.vecdot(ones(3), ones(4)),
        lambda: nd.vecdot(ones(3), ones(1)),
        lambda: nd.vecdot(ones(3), ones(2, 3), axis=0),
        lambda: nd.tensordot(ones(2, 3), ones(2, 3), axes=1),
        lambda: nd.tensordot(ones(2, 3), ones(3, 2), axes=3),
        lambda: nd.tensordot(ones(2, 2), ones(2, 2), axes=([0, 0], [0, 1])),
        lambda: nd.outer(ones(2, 2), ones(2)),
    ]
    for call in calls:
        with pytest.raises(nd.ShapeError):
            call()
    assert_same(nd.outer(ones(2), ones(3)), np.ones((2, 3), np.float32))
