"""Views share memory, and see what NumPy's see."""

import numpy as np
import pytest

import treadle.ndarray as nd

BASE = np.arange(120.0).reshape(4, 5, 6)
VIEWS = {
    "transpose": (lambda x: x.T, lambda x: x.T),
    "mT": (lambda x: x.mT, lambda x: np.swapaxes(x, 1, 2)),
    "permute": (lambda x: nd.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "transpose method": (lambda x: x.transpose(1, 0, 2), lambda x: x.transpose(1, 0, 2)),
    "flip": (lambda x: nd.flip(x, axis=(0, 2)), lambda x: np.flip(x, (0, 2))),
    "moveaxis": (lambda x: nd.moveaxis(x, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "swapaxes": (lambda x: x.swapaxes(0, -1), lambda x: x.swapaxes(0, -1)),
    "slice": (lambda x: x[1:3, ::2, -1:0:-2], lambda x: x[1:3, ::2, -1:0:-2]),
    "ints": (lambda x: x[1, ..., -2], lambda x: x[1, ..., -2]),
    "newaxis": (lambda x: x[:, None, 2, ..., None], lambda x: x[:, None, 2, ..., None]),
    "empty slice": (lambda x: x[3:1], lambda x: x[3:1]),
    "slice beyond": (lambda x: x[-100:100, 7:], lambda x: x[-100:100, 7:]),
    "reshape": (lambda x: x.reshape(2, 2, 30), lambda x: x.reshape(2, 2, 30)),
    "reshape unknown": (lambda x: x.reshape(-1, 3), lambda x: x.reshape(-1, 3)),
    "split of an axis of a slice": (
        lambda x: x[:, :, ::2].reshape(2, 2, 5, 3),
        lambda x: x[:, :, ::2].reshape(2, 2, 5, 3),
    ),
    "broadcast": (lambda x: nd.broadcast_to(x[:, :1], (4, 5, 6)), lambda x: np.broadcast_to(x[:, :1], (4, 5, 6))),
    "expand": (lambda x: nd.expand_dims(x, -1), lambda x: x[..., None]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str) -> None:
    ours, theirs = VIEWS[name]
    x = nd.asarray(BASE.copy())
    view, expected = ours(x), theirs(BASE)
    assert view.shape == expected.shape
    np.testing.assert_array_equal(view.numpy(), expected)
    if view.size:
        assert np.shares_memory(view.numpy(), x.numpy())
        assert view.strides == tuple(
            ours_ if length == 1 else theirs_
            for ours_, theirs_, length in zip(view.strides, expected.strides, view.shape, strict=True)
        )


def test_reshape_copies_only_where_it_must() -> None:
    x = nd.asarray(BASE.copy())
    flat = x.T.reshape(-1)
    np.testing.assert_array_equal(flat.numpy(), BASE.T.reshape(-1))
    assert not np.shares_memory(flat.numpy(), x.numpy())
    with pytest.raises(ValueError, match="no view"):
        x.T.reshape(-1, copy=False)
    assert not np.shares_memory(x.reshape(120, copy=True).numpy(), x.numpy())


@pytest.mark.parametrize("shape", [(7,), (-1, 7), (-1, -1), (-2, 60), (0, -1)])
def test_impossible_reshapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(nd.ShapeError, match=r"120 elements of shape \(4, 5, 6\)"):
        nd.asarray(BASE).reshape(shape)


@pytest.mark.parametrize("key", [4, (0, 5), (0, 0, 0, 0), (..., ...), 1.5, "a", slice(0, 1, 0), slice("a"), 2**70])
def test_bad_indices(key: object) -> None:
    x = nd.asarray(BASE.copy())
    with pytest.raises(nd.IndexingError):
        x[key]  # type: ignore[index]
    with pytest.raises(nd.IndexingError):
        x[key] = 0  # type: ignore[index]


def test_scalars_from_indexing_are_0d_arrays() -> None:
    x = nd.asarray([1.5, 2.5])
    assert x[1].shape == ()
    assert x[1].item() == 2.5
    assert [float(each) for each in x] == [1.5, 2.5]
    with pytest.raises(TypeError, match="0-d"):
        iter(x[0]).__next__()
    with pytest.raises(TypeError, match="0-d"):
        len(x[0])


@pytest.mark.parametrize("axes", [(0, 0, 1), (0, 1), (0, 1, 3), (0, 1, 2, 3)])
def test_bad_permutations(axes: tuple[int, ...]) -> None:
    with pytest.raises(nd.ShapeError):
        nd.permute_dims(nd.asarray(BASE), axes)


def test_squeeze() -> None:
    x = nd.zeros((1, 3, 1))
    assert nd.squeeze(x).shape == (3,)
    assert nd.squeeze(x, -1).shape == (1, 3)
    with pytest.raises(nd.ShapeError, match="length 3"):
        nd.squeeze(x, 1)
    with pytest.raises(nd.ShapeError, match="twice"):
        nd.squeeze(x, (0, 0))


def test_array_of_the_most_dimensions() -> None:
    x = nd.ones((1,) * 31 + (2,))
    assert (x + x).sum().item() == 4
    assert x.T.shape == (2,) + (1,) * 31
    with pytest.raises(nd.ShapeError):
        nd.expand_dims(x, 0)
    with pytest.raises(nd.IndexingError):
        x[None]


def test_numpys_integers_are_shapes_and_axes() -> None:
    x = nd.arange(6)
    for six in (6, np.int64(6), np.array(6), nd.asarray(6), [6], np.array([6])):
        assert x.reshape(six).shape == nd.zeros(six).shape == nd.broadcast_to(x, six).shape == (6,)
    assert x.transpose(np.int64(0)).shape == x.transpose(None).shape == (6,)
