"""Distributions made from the generator's draws: their shape, the same on every device, streams for workers."""

import math
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from strategies import DEVICES
from treadle.ndarray.distributions import alias_table
from treadle.ndarray.random import Generator

each_device = pytest.mark.parametrize("device", DEVICES)
SIZE = 20_000

CONTINUOUS: dict[str, tuple[Any, Any]] = {
    "uniform": (lambda g, n, d: g.uniform(-1.0, 3.0, n, dtype="float64", device=d), lambda s: s.uniform(-1, 4)),
    "normal": (lambda g, n, d: g.normal(2.0, 3.0, n, dtype="float64", device=d), lambda s: s.norm(2, 3)),
    "exponential": (lambda g, n, d: g.exponential(2.5, n, dtype="float64", device=d), lambda s: s.expon(0, 2.5)),
    "laplace": (lambda g, n, d: g.laplace(1.0, 2.0, n, dtype="float64", device=d), lambda s: s.laplace(1, 2)),
    "gumbel": (lambda g, n, d: g.gumbel(1.0, 2.0, n, dtype="float64", device=d), lambda s: s.gumbel_r(1, 2)),
    "gamma 0.1": (lambda g, n, d: g.gamma(0.1, 1.0, n, dtype="float64", device=d), lambda s: s.gamma(0.1)),
    "gamma 1": (lambda g, n, d: g.gamma(1.0, 2.0, n, dtype="float64", device=d), lambda s: s.gamma(1, 0, 2)),
    "gamma 7.5": (lambda g, n, d: g.gamma(7.5, 0.5, n, dtype="float64", device=d), lambda s: s.gamma(7.5, 0, 0.5)),
    "gamma 1000": (lambda g, n, d: g.gamma(1000.0, 1.0, n, dtype="float64", device=d), lambda s: s.gamma(1000)),
    "beta": (lambda g, n, d: g.beta(2.0, 5.0, n, dtype="float64", device=d), lambda s: s.beta(2, 5)),
    "beta of corners": (lambda g, n, d: g.beta(0.3, 0.2, n, dtype="float64", device=d), lambda s: s.beta(0.3, 0.2)),
}
CUT = [
    (-2.0, 2.0),
    (-0.1, 0.3),
    (0.0, math.inf),
    (1.5, math.inf),
    (5.0, 5.1),
    (4.0, 9.0),
    (-math.inf, -3.0),
    (-8.0, -7.9),
]
for low, high in CUT:
    CONTINUOUS[f"truncated normal {low} {high}"] = (
        lambda g, n, d, low=low, high=high: g.truncated_normal(
            1, 2, 1 + 2 * low, 1 + 2 * high, n, dtype="float64", device=d
        ),
        lambda s, low=low, high=high: s.truncnorm(low, high, 1, 2),
    )

DISCRETE: dict[str, tuple[Any, Any]] = {
    "integers": (lambda g, n, d: g.integers(-2, 5, n, device=d), lambda s: s.randint(-2, 5)),
    "poisson 0.3": (lambda g, n, d: g.poisson(0.3, n, device=d), lambda s: s.poisson(0.3)),
    "poisson 40": (lambda g, n, d: g.poisson(40.0, n, device=d), lambda s: s.poisson(40)),
    "binomial": (lambda g, n, d: g.binomial(10, 0.3, n, device=d), lambda s: s.binom(10, 0.3)),
    "binomial of many": (lambda g, n, d: g.binomial(10**6, 1e-5, n, device=d), lambda s: s.binom(10**6, 1e-5)),
    "binomial that mostly succeeds": (lambda g, n, d: g.binomial(9, 0.9, n, device=d), lambda s: s.binom(9, 0.9)),
    "geometric": (lambda g, n, d: g.geometric(0.25, n, device=d), lambda s: s.geom(0.25)),
    "choice": (
        lambda g, n, d: g.choice(4, n, p=[0.1, 0.0, 0.6, 0.3], device=d),
        lambda s: s.rv_discrete(values=([0, 1, 2, 3], [0.1, 0.0, 0.6, 0.3])),
    ),
}


def host(x: nd.NDArray) -> Any:
    return x.to_device("cpu").numpy()


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(device: str, name: str) -> None:
    """Kolmogorov and Smirnov's test; a right generator fails it once in 10^5 seeds."""
    stats = pytest.importorskip("scipy.stats")
    draw, distribution = CONTINUOUS[name]
    drawn = host(draw(Generator(2026), SIZE, device))
    assert np.isfinite(drawn).all()
    assert stats.kstest(drawn, distribution(stats).cdf).pvalue > 1e-5
    lowest, highest = distribution(stats).support()
    assert lowest <= drawn.min()
    assert drawn.max() <= highest


@pytest.mark.parametrize("device", ["cpu", "numpy"])
@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(device: str, name: str) -> None:
    """Pearson's chi-square over the values that are expected ten times, and all others together."""
    stats = pytest.importorskip("scipy.stats")
    draw, distribution = DISCRETE[name]
    drawn = draw(Generator(7), SIZE, device)
    assert drawn.dtype == "int64"
    numbers = np.arange(-5, 200)
    expected = distribution(stats).pmf(numbers) * SIZE
    counted = np.array([(host(drawn) == each).sum() for each in numbers])
    assert (counted[expected < 1e-12] == 0).all()
    often = expected > 10
    rest = [SIZE - expected[often].sum()], [SIZE - counted[often].sum()]
    expected, counted = np.concatenate([expected[often], rest[0]]), np.concatenate([counted[often], rest[1]])
    kept = expected > 1
    statistic = ((counted - expected) ** 2 / np.maximum(expected, 1e-9))[kept].sum()
    assert stats.chi2(kept.sum() - 1).sf(statistic) > 1e-5


@pytest.mark.parametrize("a", [1e-310, 1e-300])
def test_beta_of_almost_nothing_is_a_coin(a: float) -> None:
    """With both parameters tending to 0 the distribution tends to the points 1, of probability a / (a + b), and 0."""
    drawn = Generator(3).beta(a, 3 * a, (20_000,), dtype="float64")
    assert nd.unique_values(drawn).tolist() == [0.0, 1.0]
    assert abs(drawn.mean().item() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 20_000)


def test_truncated_normals_at_the_end_of_the_world() -> None:
    for low, high, nearest in ((1e300, np.inf, 1e300), (-np.inf, -1e200, -1e200), (1e150, 2e150, 1e150)):
        drawn = Generator(3).truncated_normal(low=low, high=high, shape=(5,), dtype="float64")
        assert drawn.tolist() == [nearest] * 5
    assert Generator(3).truncated_normal(1e300, low=-1.0, high=1.0, shape=(5,)).tolist() == [1.0] * 5


SAME_BITS: dict[str, Any] = {name: draw for name, (draw, _) in DISCRETE.items() if name != "geometric"}
SAME_BITS["bits"] = lambda g, n, d: g.bits(n, device=d)
SAME_BITS["uniform choice"] = lambda g, n, d: g.choice(10**12, n, device=d)
SAME_BITS["permutation"] = lambda g, n, d: g.permutation(n, device=d)
SAME_BITS["choice without replacement"] = lambda g, n, d: g.choice(n + 10, (n,), replace=False, device=d)
SAME_BITS["weighted choice without replacement"] = lambda g, n, d: g.choice(
    n + 1, (n,), replace=False, p=[1 / (n + 1)] * (n + 1), device=d
)


@each_device
@pytest.mark.parametrize("name", SAME_BITS)
@pytest.mark.parametrize("size", [0, 1, 2, 3, 1001])
def test_the_same_bits_on_every_device(device: str, name: str, size: int) -> None:
    here, there = Generator(2**63 + 5), Generator(2**63 + 5)
    drawn, expected = SAME_BITS[name](here, size, device), SAME_BITS[name](there, size, "cpu")
    assert drawn.device == device
    assert host(drawn).tolist() == expected.tolist()
    assert here.state() == there.state()


@each_device
@pytest.mark.parametrize("name", CONTINUOUS)
def test_nearly_the_same_on_every_device(device: str, name: str) -> None:
    here, there = Generator(3), Generator(3)
    drawn, expected = host(CONTINUOUS[name][0](here, 501, device)), host(CONTINUOUS[name][0](there, 501, "cpu"))
    np.testing.assert_allclose(drawn, expected, rtol=1e-9, atol=1e-12)
    assert here.state() == there.state()


def test_a_draw_moves_the_generator_by_the_same_count() -> None:
    """However often values were rejected: what comes next does not depend on it."""
    counters = set()
    for seed in range(20):
        generator = Generator(seed)
        generator.gamma(1.0, shape=100)
        generator.truncated_normal(shape=100)
        counters.add(generator.counter)
    assert len(counters) == 1


def test_shapes_and_dtypes() -> None:
    g = Generator(0)
    for draw in (g.exponential, g.laplace, g.gumbel, g.truncated_normal):
        assert draw(shape=(2, 3)).dtype == "float32"
        assert draw(shape=(2, 3), dtype="float64").dtype == "float64"
        assert draw().shape == ()
        assert draw(shape=(2, 0)).shape == (2, 0)
        with pytest.raises(nd.DTypeError, match="int64"):
            draw(dtype="int64")
    assert g.gamma(2.0, shape=(2, 3)).dtype == "float32"
    assert g.beta(2.0, 1.0, shape=3, dtype="float64").shape == (3,)
    assert g.poisson(3.0, (2, 2)).shape == g.binomial(5, 0.5, (2, 2)).shape == g.geometric(0.5, (2, 2)).shape == (2, 2)
    assert g.gamma(1e-300, dtype="float64", shape=5).tolist() == [0] * 5
    assert 0 <= g.beta(1e-3, 1e-3).item() <= 1


def test_choice() -> None:
    g = Generator(1)
    letters = nd.asarray([[1, 2, 3], [4, 5, 6]])
    assert g.choice(letters, (4,), axis=1).shape == (2, 4)
    assert set(g.choice(letters, (50,))[:, 0].tolist()) == {1, 4}
    assert g.choice(letters, (5, 2)).shape == (5, 2, 3)
    assert sorted(g.choice(10, (2, 5), replace=False).ravel().tolist()) == list(range(10))
    assert sorted(g.choice(4, (2,), replace=False, p=nd.asarray([0.5, 0.0, 0.0, 0.5])).tolist()) == [0, 3]
    assert g.choice(1000, (3,), p=nd.softmax(g.normal(shape=1000))).shape == (3,)
    assert g.choice(0, (0,)).shape == (0,)
    assert g.choice(5).shape == ()


def test_weighted_samples_without_replacement() -> None:
    """P(first = a, second = b) = p_a p_b / (1 - p_a)."""
    p = [0.5, 0.3, 0.2]
    generator, counts = Generator(5), np.zeros((3, 3))
    for _ in range(4000):
        first, second = generator.choice(3, (2,), replace=False, p=p).tolist()
        counts[first, second] += 1
    for a in range(3):
        for b in range(3):
            expected = 0 if a == b else p[a] * p[b] / (1 - p[a])
            assert abs(counts[a, b] / 4000 - expected) < 5 * math.sqrt(0.25 / 4000)


def test_alias_tables_hold_the_weights() -> None:
    random = np.random.default_rng(0)
    for count in (1, 2, 3, 10, 257):
        weights = random.random(count) ** 4
        share, other = (each.numpy() for each in alias_table(weights.tolist()))
        held = share.copy()
        np.add.at(held, other, 1 - share)
        np.testing.assert_allclose(held / count, weights / weights.sum(), rtol=1e-10, atol=1e-15)
        assert ((share >= 0) & (share <= 1)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.exponential(0.0), "scale is 0"),
        (lambda g: g.gamma(-1.0), "alpha is -1"),
        (lambda g: g.gamma(math.nan), "alpha is nan"),
        (lambda g: g.beta(1.0, math.inf), "b is inf"),
        (lambda g: g.truncated_normal(low=1.0, high=1.0), "empty"),
        (lambda g: g.truncated_normal(std=0.0), "std is 0"),
        (lambda g: g.poisson(-1.0), "rate is -1"),
        (lambda g: g.binomial(-1, 0.5), "trials -1"),
        (lambda g: g.binomial(1, 1.5), "p is 1.5"),
        (lambda g: g.geometric(0.0), "p is 0"),
        (lambda g: g.choice(0, (1,)), "nothing to choose from"),
        (lambda g: g.choice(3, (4,), replace=False), "only 3"),
        (lambda g: g.choice(2, p=[1.0]), "1 probabilities for 2"),
        (lambda g: g.choice(2, p=[1.5, -0.5]), "negative"),
        (lambda g: g.choice(2, p=[0.5, 0.4]), "sum"),
        (lambda g: g.choice(2, (2,), replace=False, p=[1.0, 0.0]), "only 1"),
        (lambda g: g.jump(-1), "count is -1"),
        (lambda g: g.jump(2**24), "count"),
    ],
)
def test_what_is_no_distribution(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(Generator(0))


def test_spawned_generators() -> None:
    workers = Generator(9).spawn(50)
    assert [each.seed for each in workers] == [each.seed for each in Generator(9).spawn(50)]
    assert len({each.bits().item() for each in workers}) == 50
    parent = Generator(9)
    assert {each.seed for each in parent.spawn(3)}.isdisjoint(each.seed for each in parent.spawn(3))
    assert all(type(each) is Generator for each in workers)


def test_jumps() -> None:
    """Far ahead on the same stream: 2^40 blocks of two 64-bit words."""
    start = Generator(4)
    start.bits((10,))
    ahead = start.jump(3)
    assert ahead.state() == {"seed": 4, "counter": 5 + 3 * 2**40}
    assert start.state() == {"seed": 4, "counter": 5}
    assert ahead.bits((2,)).tolist() == start.jump().jump(2).bits((2,)).tolist()
    assert ahead.bits((2,)).tolist() != start.bits((2,)).tolist()
    assert start.jump(0).state() == start.state()


def test_the_default_generator_has_them_all() -> None:
    for name in (
        "choice",
        "exponential",
        "gamma",
        "beta",
        "laplace",
        "gumbel",
        "truncated_normal",
        "poisson",
        "binomial",
    ):
        nd.random.manual_seed(1)
        arguments = {"choice": (5,), "gamma": (2.0,), "beta": (1.0, 2.0), "poisson": (2.0,), "binomial": (5, 0.5)}.get(
            name, ()
        )
        drawn = getattr(nd.random, name)(*arguments)
        assert drawn.item() == getattr(Generator(1), name)(*arguments).item()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, math.inf), (-math.inf, 0.0), (math.nan, 1.0), (0.0, math.nan), (-1e308, 1e308), (2.0, 1.0)],
)
def test_uniform_numbers_lie_between_finite_ends(low: float, high: float, dtype: str) -> None:
    """numpy/numpy#8226, numpy/numpy#27961, jax-ml/jax#14003"""
    with pytest.raises(nd.RangeError, match="uniform"):
        Generator(0).uniform(low, high, (3,), dtype=dtype)
    assert Generator(0).uniform(1.0, 1.0, (2,), dtype=dtype).tolist()[0].real == 1.0


@pytest.mark.parametrize(
    "state",
    [None, {}, {"seed": 1}, {"seed": 1, "counter": -1}, {"seed": 1, "counter": 2**64}, {"seed": 1.0, "counter": 0}],
)
def test_a_damaged_state_is_refused_and_changes_nothing(state: Any) -> None:
    generator = Generator(3)
    with pytest.raises(nd.ArgumentError, match="set_state"):
        generator.set_state(state)
    assert generator.state() == Generator(3).state()


def test_a_state_of_numpy_integers_is_one() -> None:
    generator = Generator(3)
    generator.set_state({"seed": np.uint64(5), "counter": np.int64(2)})  # type: ignore[dict-item]
    assert generator.state() == {"seed": 5, "counter": 2} and type(generator.counter) is int
