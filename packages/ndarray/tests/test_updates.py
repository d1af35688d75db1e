"""The fused optimizer updates against their composition."""

import itertools

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray.updates import compose_adam, compose_sgd


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("decoupled", "decay", "maximize"), list(itertools.product((False, True), (0.0, 0.1), (False, True)))
)
def test_adam(dtype: str, decoupled: bool, decay: float, maximize: bool) -> None:
    generator = nd.random.Generator(0)
    fused = [generator.uniform(-1, 1, (7, 5), dtype=dtype), *(nd.zeros((7, 5), dtype=dtype) for _ in range(2))]
    composed = [each.copy() for each in fused]
    for step in range(1, 4):
        gradient = generator.normal(shape=(5, 7), dtype=dtype).T
        nd.adam_step(
            fused[0],
            gradient,
            fused[1],
            fused[2],
            lr=0.01,
            weight_decay=decay,
            decoupled=decoupled,
            step=step,
            maximize=maximize,
        )
        hyper = (0.01, 0.9, 0.999, 1e-8, decay, decoupled, 1 - 0.9**step, 1 - 0.999**step, -1 if maximize else 1)
        compose_adam(composed[0], gradient, composed[1], composed[2], hyper)
    for ours, expected in zip(fused, composed, strict=True):
        np.testing.assert_allclose(
            ours.numpy(), expected.numpy(), rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-7
        )


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.9, False), (0.9, True)])
@pytest.mark.parametrize(("dampening", "decay", "maximize"), [(0.0, 0.0, False), (0.5, 0.1, True)])
def test_sgd(momentum: float, nesterov: bool, dampening: float, decay: float, maximize: bool) -> None:
    generator = nd.random.Generator(0)
    parameter = generator.uniform(-1, 1, (6,))
    buffer = nd.zeros(6) if momentum else None
    composed, composed_buffer = parameter.copy(), None if buffer is None else buffer.copy()
    for step in range(3):
        gradient = generator.normal(shape=(6,))
        nd.sgd_step(
            parameter, gradient, buffer, lr=0.1, momentum=momentum, dampening=dampening, weight_decay=decay,
            nesterov=nesterov, first_step=step == 0, maximize=maximize,
        )  # fmt: skip
        hyper = (0.1, momentum, dampening, decay, nesterov, step == 0, -1 if maximize else 1)
        compose_sgd(composed, gradient, composed_buffer, hyper)
    np.testing.assert_allclose(parameter.numpy(), composed.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [(1 << 16) - 1, (1 << 16) + 5, 300_001])
def test_long_updates_are_the_same_bits_for_every_number_of_threads(size: int) -> None:
    """As those of the parts, which are too short to be shared."""
    generator = nd.random.Generator(1)
    given = [generator.normal(0.0, 1.0, (size,)) for _ in range(2)]
    state = [generator.uniform(0.0, 1.0, (size,)) for _ in range(3)]

    def updated(piece: int) -> list[bytes]:
        parameters = [each.copy() for each in given]
        gradient, *kept = (each.copy() for each in state)
        for start in range(0, size, piece):
            part = slice(start, start + piece)
            nd.adam_step(parameters[0][part], gradient[part], kept[0][part], kept[1][part], lr=0.01, step=3)
            nd.sgd_step(parameters[1][part], gradient[part], kept[0][part], lr=0.1, momentum=0.9)
        return [each.numpy().tobytes() for each in (*parameters, *kept)]

    before = nd.get_num_threads()
    try:
        found = []
        for threads in (1, 2, 5):
            nd.set_num_threads(threads)
            found.append(updated(size))
        assert found[0] == found[1] == found[2] == updated(10_007)
    finally:
        nd.set_num_threads(before)


def test_bad_updates() -> None:
    x = nd.ones(3)
    with pytest.raises(nd.ShapeError, match="adam_step"):
        nd.adam_step(x, nd.ones(2), nd.zeros(3), nd.zeros(3), lr=0.1, step=1)
    with pytest.raises(nd.DTypeError, match="sgd_step"):
        nd.sgd_step(nd.ones(3, dtype="int64"), nd.ones(3, dtype="int64"), lr=0.1)
    with pytest.raises(ValueError, match="counts from 1"):
        nd.adam_step(x, x, nd.zeros(3), nd.zeros(3), lr=0.1, step=0)
    with pytest.raises(TypeError):
        nd.sgd_step(x, None, lr=0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        nd.adam_step(x, x, None, None, lr=0.1, step=1)  # type: ignore[arg-type]
    with pytest.raises(nd.BufferReadOnlyError):
        nd.sgd_step(nd.broadcast_to(nd.ones(1), (3,)), nd.ones(3), lr=0.1)


def test_updates_of_views_and_overlaps() -> None:
    x = nd.arange(1.0, 7.0)
    nd.sgd_step(x[::-2], nd.ones(3), lr=0.5)
    assert x.tolist() == [1, 1.5, 3, 3.5, 5, 5.5]
    p = nd.ones(1000)[::-1]
    nd.sgd_step(p, p, lr=0.5)
    assert p.tolist() == [0.5] * 1000
    b = nd.ones(4)
    nd.sgd_step(b[1:], b[:-1], lr=1.0)
    assert b.tolist() == [1, 0, 0, 0]
