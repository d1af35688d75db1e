"""Positional encodings and the cache of attention: what PyTorch lacks, against formulas and the plain computation."""

import math
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, gradcheck, no_grad


def draw(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def test_sinusoidal_table() -> None:
    """Vaswani et al. 2017, section 3.5."""
    layer = nn.SinusoidalPositionalEncoding(6, 50, dtype=nd.float64)
    table = layer(Tensor(np.zeros((50, 6)))).numpy()
    for position in (0, 1, 49):
        for feature in range(6):
            angle = position / 10000 ** (feature // 2 * 2 / 6)
            wanted = math.cos(angle) if feature % 2 else math.sin(angle)
            assert table[position, feature] == pytest.approx(wanted, abs=1e-14)
    assert list(layer.state_dict()) == []
    assert layer.table.dtype is nd.float64


def test_sinusoidal_layouts_and_offset() -> None:
    x = draw(2, 5, 4)
    first = nn.SinusoidalPositionalEncoding(4, 9, dtype=nd.float64)
    last = nn.SinusoidalPositionalEncoding(4, 9, batch_first=False, dtype=nd.float64)
    whole = first(Tensor(x)).numpy()
    np.testing.assert_array_equal(last(Tensor(x.swapaxes(0, 1))).numpy().swapaxes(0, 1), whole)
    np.testing.assert_array_equal(first(Tensor(x[:, 3:]), offset=3).numpy(), whole[:, 3:])


@pytest.mark.parametrize("interleaved", [True, False])
def test_rotary_products_depend_on_the_distance_only(interleaved: bool) -> None:
    """Su et al. 2021, equation 11."""
    turn = nn.RotaryPositionalEncoding(8, 64, interleaved=interleaved, dtype=nd.float64)
    query, key = draw(1, 8), draw(1, 8, seed=1)

    def product(at: int, other: int) -> float:
        return float((turn(Tensor(query), at).numpy() * turn(Tensor(key), other).numpy()).sum())

    assert product(5, 2) == pytest.approx(product(43, 40), rel=1e-12)
    assert product(5, 2) != pytest.approx(product(5, 3), rel=1e-3)


@pytest.mark.parametrize("interleaved", [True, False])
def test_rotary_turns_pairs(interleaved: bool) -> None:
    turn = nn.RotaryPositionalEncoding(6, 16, base=100.0, interleaved=interleaved, dtype=nd.float64)
    x = draw(2, 3, 16, 6)
    found = turn(Tensor(x)).numpy()
    pairs = [(2 * at, 2 * at + 1) if interleaved else (at, at + 3) for at in range(3)]
    for at, (first, second) in enumerate(pairs):
        turned = (x[..., first] + 1j * x[..., second]) * np.exp(1j * np.arange(16) * 100.0 ** (-2 * at / 6))
        np.testing.assert_allclose(found[..., first] + 1j * found[..., second], turned, rtol=1e-12)
    assert gradcheck(turn, Tensor(x[0, 0, :2], requires_grad=True))


@pytest.mark.parametrize("steps", [[5], [1] * 5, [2, 1, 2]])
def test_a_cache_gives_what_the_whole_sequence_does(steps: list[int]) -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True).to(nd.float64)
    x = draw(3, 5, 8)
    with no_grad():
        whole, _ = layer(*[Tensor(x)] * 3, is_causal=True)
        cache, parts, at = nn.KeyValueCache(), [], 0
        for count in steps:
            part = Tensor(x[:, at : at + count])
            parts.append(layer(part, part, part, is_causal=True, cache=cache)[0].numpy())
            at += count
    np.testing.assert_allclose(np.concatenate(parts, 1), whole.numpy(), rtol=1e-12)
    assert len(cache) == 5


def test_an_encoder_with_caches_generates_step_by_step() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, norm_first=True, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).to(nd.float64).eval()
    x = draw(2, 4, 8)
    caches = [nn.KeyValueCache() for _ in range(2)]
    with no_grad():
        whole = model(Tensor(x), is_causal=True).numpy()
        steps = [model(Tensor(x[:, at : at + 1]), is_causal=True, caches=caches).numpy() for at in range(4)]
    np.testing.assert_allclose(np.concatenate(steps, 1), whole, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="1 caches for 2 layers"):
        model(Tensor(x), caches=caches[:1])
    with pytest.raises(TypeError, match="cache must be a KeyValueCache"):
        layer(Tensor(x.astype("f4")), cache={})


def test_causal_attention_does_not_look_ahead() -> None:
    """The gradient of a step by later steps is zero."""
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    x = Tensor(draw(1, 4, 4).astype("f4"), requires_grad=True)
    out, weights = layer(x, x, x, is_causal=True)
    assert not np.triu(weights.numpy()[0], 1).any()
    out[0, 1].sum().backward()
    assert not x.grad.numpy()[0, 2:].any()
    assert x.grad.numpy()[0, :2].any()
