"""Writing: operators in place, assignment, ``out``, overlap, versions, read-only memory."""

import numpy as np
import pytest

import treadle.ndarray as nd


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "//=", "%=", "**="])
def test_operators_in_place(operator: str) -> None:
    x, expected = nd.asarray([1.0, 2.0, 5.0]), np.array([1, 2, 5], "f4")
    alias, version = x[:], x.version
    names = {"x": x, "expected": expected}
    exec(f"x {operator} 2; expected {operator} 2", names)
    np.testing.assert_allclose(alias.numpy(), expected)
    assert alias.version == version + 1


def test_in_place_keeps_dtype_and_shape() -> None:
    x = nd.asarray([1, 2, 3])
    with pytest.raises(nd.DTypeError, match="float32"):
        x += 0.5
    with pytest.raises(nd.ShapeError, match=r"\(2, 3\)"):
        x += nd.ones((2, 3), dtype="int64")
    x += nd.asarray([True, False, True])
    assert x.tolist() == [2, 2, 4]


def test_overlapping_assignment_is_as_if_copied() -> None:
    for target, source in (
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
    ):
        x, expected = nd.arange(6), np.arange(6)
        x[target] = x[source]
        expected[target] = expected[source].copy()
        assert x.tolist() == expected.tolist()
    m, expected = nd.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3)
    m[1:, 1:] = m[:-1, :-1]
    expected[1:, 1:] = expected[:-1, :-1].copy()
    assert m.tolist() == expected.tolist()
    m = nd.arange(9).reshape(3, 3)
    m[...] = m.T
    assert m.tolist() == np.arange(9).reshape(3, 3).T.tolist()


def test_overlapping_operators_and_out() -> None:
    x = nd.arange(6)
    x[1:] += x[:-1]
    assert x.tolist() == [0, 1, 3, 5, 7, 9]
    m = nd.arange(4.0).reshape(2, 2)
    nd.add(m, m.T, out=m)
    assert m.tolist() == [[0, 3], [3, 6]]
    nd.matmul(m, m, out=m)
    assert m.tolist() == [[9, 18], [18, 45]]
    v = nd.arange(4.0)
    nd.negative(v[::-1], out=v)
    assert v.tolist() == [-3, -2, -1, 0]
    nd.where(v[::-1] < -1, v[::-1], 9.0, out=v)
    assert v.tolist() == [9, 9, -2, -3]


def test_out_is_checked() -> None:
    x = nd.ones((2, 3))
    with pytest.raises(nd.ShapeError):
        nd.add(x, x, out=nd.empty(3))
    with pytest.raises(nd.DTypeError):
        nd.add(x, x, out=nd.empty((2, 3), dtype="int64"))
    with pytest.raises(nd.DTypeError, match="list"):
        nd.add(x, x, out=[])  # type: ignore[arg-type]
    wide = nd.empty((2, 3), dtype="float64")
    assert nd.add(x, x, out=wide) is wide
    assert wide.tolist() == [[2.0] * 3] * 2


def test_assignment_broadcasts_and_converts() -> None:
    x = nd.zeros((2, 3), dtype="int64")
    x[...] = nd.asarray([1.9, 2.9, 3.9])
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    x[0] = nd.ones((1, 1, 3))
    assert x.tolist() == [[1, 1, 1], [1, 2, 3]]
    x[:, 1] = [7, 8]
    assert x.tolist() == [[1, 7, 1], [1, 8, 3]]
    with pytest.raises(nd.ShapeError, match=r"\(2,\) does not broadcast to \(2, 3\)"):
        x[...] = nd.ones(2)
    with pytest.raises(OverflowError):
        nd.zeros(2, dtype="int8")[...] = 1000


def test_read_only_memory_is_not_written() -> None:
    frozen = nd.asarray(np.frombuffer(b"\0" * 16, "f8"))
    stretched = nd.broadcast_to(nd.zeros(1), (3,))
    for x in (frozen, frozen[:1], stretched):
        assert x.readonly
        with pytest.raises(nd.BufferReadOnlyError, match="copy"):
            x += 1
        with pytest.raises(nd.BufferReadOnlyError):
            x[0] = 1
        with pytest.raises(nd.BufferReadOnlyError):
            nd.exp(nd.zeros(x.shape, dtype=x.dtype), out=x)
    assert frozen.tolist() == [0, 0]
    assert not nd.broadcast_to(nd.zeros(3), (3,)).readonly


def test_every_write_raises_the_version() -> None:
    x = nd.zeros((3, 3))
    view, before = x.T[1:], x.version
    writes = (
        lambda: x.__setitem__(0, 1.0),
        lambda: view.fill(2.0),
        lambda: x.__setitem__([0, 0], 1.0),
        lambda: x.__setitem__(x > 0, 3.0),
        lambda: nd.put_along_axis(x, nd.zeros((3, 1), dtype="int64"), 4.0, axis=1),
        lambda: nd.sgd_step(x, nd.ones((3, 3)), lr=0.1),
    )
    for number, write in enumerate(writes, 1):
        write()
        assert x.version == view.version == before + number
