"""Distributions that are made from uniform, normal and integer draws.

Those that reject and draw again take their numbers from a stream of their own, seeded by one draw of the generator, so
that the generator moves on by the same count however often they reject. They compute in float64 and round once.
"""

import heapq
import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from treadle.ndarray._array import NDArray
from treadle.ndarray._shapes import normalize_axis
from treadle.ndarray.creation import DeviceLike, DTypeLike, Shape, as_array, asarray, full
from treadle.ndarray.elementwise import ceil, exp, log, log1p, logical_not, maximum, sigmoid, where
from treadle.ndarray.errors import ShapeError
from treadle.ndarray.indexing import nonzero, take
from treadle.ndarray.stream import Stream, floating

__all__ = ["Distributions", "alias_table"]

_NEGLIGIBLE = 1e-30
"""A weight, relative to the largest, below which an integer is left out of a table."""

_MOST_ENTRIES = 1 << 22

_POINTS = 1e-280
"""Parameters of a beta distribution below which a float64 between 0 and 1 has a probability that no draw will see."""

_STEEP = 1e100
"""Standard deviations from the mean where the next float64 is already beyond what a draw will see."""


def alias_table(weights: Sequence[float]) -> tuple[NDArray, NDArray]:
    """For each of n equally likely columns: the share of its own number, and the number that has the rest.

    Source: M. Vose, "A linear algorithm for generating random numbers with a given distribution" (1991).

    >>> share, other = alias_table([1.0, 3.0])
    >>> share.tolist(), other.tolist()
    ([0.5, 1.0], [1, 1])
    """
    count, total = len(weights), math.fsum(weights)
    share = [each * count / total for each in weights]
    other = list(range(count))
    small = [at for at, each in enumerate(share) if each < 1.0]
    large = [at for at, each in enumerate(share) if each >= 1.0]
    while small and large:
        low, high = small.pop(), large[-1]
        other[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            small.append(large.pop())
    for at in small + large:
        share[at] = 1.0
    return asarray(share, dtype="float64", device="cpu"), asarray(other, dtype="int64", device="cpu")


def _around(mode: int, up: Callable[[int], float], down: Callable[[int], float]) -> tuple[int, NDArray, NDArray]:
    """The table of an integer distribution with one mode, from the ratios P(k + 1) / P(k) and P(k - 1) / P(k), and the
    number its first column stands for."""
    lower, upper = [1.0], [1.0]
    for weights, ratio, step in ((upper, up, 1), (lower, down, -1)):
        at = mode
        while weights[-1] > _NEGLIGIBLE and len(weights) < _MOST_ENTRIES:
            weights.append(weights[-1] * ratio(at))
            at += step
    return mode - len(lower) + 1, *alias_table(lower[:0:-1] + upper)


@lru_cache(maxsize=8)
def _poisson_table(rate: float) -> tuple[int, NDArray, NDArray]:
    return _around(int(rate), lambda k: rate / (k + 1), lambda k: k / rate)


@lru_cache(maxsize=8)
def _binomial_table(trials: int, p: float) -> tuple[int, NDArray, NDArray]:
    odds = p / (1.0 - p)
    mode = min(trials, int((trials + 1) * p))
    return _around(mode, lambda k: (trials - k) / (k + 1) * odds, lambda k: k / ((trials - k + 1) * odds))


def _shape(shape: Shape) -> tuple[int, ...]:
    return (operator.index(shape),) if isinstance(shape, int) else tuple(shape)  # type: ignore[arg-type]


def _positive(op: str, **values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{op}: {name} is {value}, it must be positive and finite")


def _until_accepted(count: int, propose: Callable[[int], tuple[NDArray, NDArray]]) -> NDArray:
    """``count`` accepted values; ``propose(n)`` gives n values and which of them are accepted."""
    out, accepted = propose(count)
    pending = nonzero(logical_not(accepted))[0]
    while pending.size:
        values, accepted = propose(pending.size)
        out[pending] = values
        pending = pending[logical_not(accepted)]
    return out


def _gamma(stream: Stream, shape: float, count: int, device: Any) -> NDArray:
    """Standard gamma variates for a shape of at least 1: G. Marsaglia, W. Tsang, "A simple method for generating gamma
    variables" (2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)

    def propose(n: int) -> tuple[NDArray, NDArray]:
        x = stream.normal(shape=(n,), dtype="float64", device=device)
        u = stream.uniform(shape=(n,), dtype="float64", device=device)
        v = 1.0 + c * x
        positive = v > 0
        v = where(positive, v * v * v, 1.0)
        return d * v, positive & (log1p(-u) < 0.5 * x * x + d - d * v + d * log(v))

    return _until_accepted(count, propose)


def _log_gamma(stream: Stream, shape: float, count: int, device: Any) -> NDArray:
    """Logarithms of standard gamma variates, also of those too small for a float64."""
    if shape >= 1.0:
        return log(_gamma(stream, shape, count, device))
    u = stream.uniform(shape=(count,), dtype="float64", device=device)
    return log(_gamma(stream, shape + 1.0, count, device)) + log1p(-u) / shape


def _tail(stream: Stream, low: float, high: float, count: int, device: Any) -> NDArray:
    """Standard normals in [low, high] with 0 <= low, or around 0: C. Robert, "Simulation of truncated normal variables"
    (1995), by rejection from whichever of the normal, uniform and exponential distributions wastes little."""
    if low > _STEEP:
        return full((count,), low, dtype="float64", device=device)
    rate = 0.5 * (low + math.sqrt(low * low + 4.0))
    inside = low <= 0.0
    narrow = math.sqrt(2.0 * math.pi) if inside else math.exp(0.5 * (low * low - low * rate) + 0.5) / rate

    def normal(n: int) -> tuple[NDArray, NDArray]:
        x = stream.normal(shape=(n,), dtype="float64", device=device)
        return x, (x >= low) & (x <= high)

    def uniform(n: int) -> tuple[NDArray, NDArray]:
        x = stream.uniform(low, high, (n,), dtype="float64", device=device)
        u = stream.uniform(shape=(n,), dtype="float64", device=device)
        return x, u < exp(0.5 * ((0.0 if inside else low * low) - x * x))

    def exponential(n: int) -> tuple[NDArray, NDArray]:
        x = low - log1p(-stream.uniform(shape=(n,), dtype="float64", device=device)) / rate
        u = stream.uniform(shape=(n,), dtype="float64", device=device)
        return x, (x <= high) & (u < exp(-0.5 * (x - rate) * (x - rate)))

    propose = uniform if high - low <= narrow else normal if inside else exponential
    return _until_accepted(count, propose)


class Distributions(Stream):
    """The draws of :class:`Stream` and what is made from them."""

    def _own_stream(self) -> Stream:
        return Stream(self.bits(device="cpu").item())

    def _from_table(self, table: tuple[int, NDArray, NDArray], shape: Shape, device: DeviceLike | None) -> NDArray:
        first, share, other = table
        column = self.integers(0, share.shape[0], shape, device=device)
        u = self.uniform(shape=shape, dtype="float64", device=device)
        at = column.reshape(-1)
        own = u < take(share.to_device(column.device), at).reshape(column.shape)
        return where(own, column, take(other.to_device(column.device), at).reshape(column.shape)) + first

    def choice(
        self,
        x: int | NDArray,
        shape: Shape = (),
        *,
        replace: bool = True,
        p: Sequence[float] | NDArray | None = None,
        axis: int = 0,
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Integers below x, or slices of an array x along ``axis``, equally likely or with probabilities ``p``.

        ``shape`` stands where ``axis`` was. With ``replace=False`` none comes twice, in random order. Raises ValueError
        when there are too few to choose from, or p are no probabilities of that many.

        Source: with p and replacement A. Walker's alias method in M. Vose's form (1991); without replacement
        P. Efraimidis, P. Spirakis, "Weighted random sampling with a reservoir" (2006).

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).choice(3, (2,), p=[0.0, 1.0, 0.0])
        array([1, 1])
        >>> sorted(nd.random.Generator(0).choice(3, (3,), replace=False).tolist())
        [0, 1, 2]
        """
        if isinstance(x, NDArray):
            if x.ndim == 0:
                raise ShapeError(f"choice: x is a 0-d array of {x.dtype.name}; give an int, or an array with an axis")
            count = x.shape[normalize_axis(axis, x.ndim, "choice")]
            chosen = self.choice(count, shape, replace=replace, p=p, device=x.device)
            return take(x, chosen, axis=axis)
        count, lengths = operator.index(x), _shape(shape)
        size = math.prod(lengths)
        if count <= 0 and size:
            raise ValueError(f"choice: nothing to choose from: x is {count}")
        if not replace and size > count:
            raise ValueError(f"choice: {size} without replacement, there are only {count}")
        if p is None:
            if replace:
                return self.integers(0, max(count, 1), lengths, device=device)
            return self.permutation(count, device=device)[:size].reshape(lengths)
        weights = _probabilities(p, count)
        if replace:
            return self._from_table((0, *alias_table(weights)), lengths, device)
        return self._weighted_sample(weights, lengths, device)

    def _weighted_sample(self, weights: list[float], shape: tuple[int, ...], device: DeviceLike | None) -> NDArray:
        """The places with the smallest exponential(1) / weight, on the cpu, so that every device has the same."""
        size = math.prod(shape)
        waits = (-log1p(-self.uniform(shape=(len(weights),), dtype="float64", device="cpu"))).tolist()
        keys = [(wait / weight, at) for at, (wait, weight) in enumerate(zip(waits, weights, strict=True)) if weight]
        if len(keys) < size:
            raise ValueError(f"choice: {size} without replacement, only {len(keys)} have a probability above 0")
        found = [at for _, at in heapq.nsmallest(size, keys)]
        return asarray(found, dtype="int64", device=device).reshape(shape)

    def exponential(
        self, scale: float = 1.0, shape: Shape = (), *, dtype: DTypeLike = "float32", device: DeviceLike | None = None
    ) -> NDArray:
        """Exponentially distributed with mean ``scale``: density exp(-x / scale) / scale.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).exponential(2.0, (3,)).shape
        (3,)
        """
        _positive("exponential", scale=scale)
        wanted = floating((0,), dtype, device, "exponential").dtype
        u = self.uniform(shape=shape, dtype="float64", device=device)
        return (log1p(-u) * -scale).astype(wanted, copy=False)

    def laplace(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Laplace distributed: density exp(-abs(x - loc) / scale) / (2 scale), by inversion.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).laplace(shape=(3,)).shape
        (3,)
        """
        _positive("laplace", scale=scale)
        wanted = floating((0,), dtype, device, "laplace").dtype
        u = maximum(self.uniform(shape=shape, dtype="float64", device=device), 2.0**-54)
        drawn = loc + scale * where(u < 0.5, log(2.0 * u), -log1p(1.0 - 2.0 * u))
        return drawn.astype(wanted, copy=False)

    def gumbel(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Gumbel distributed: distribution function exp(-exp(-(x - loc) / scale)), by inversion.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).gumbel(shape=(3,)).shape
        (3,)
        """
        _positive("gumbel", scale=scale)
        wanted = floating((0,), dtype, device, "gumbel").dtype
        u = maximum(self.uniform(shape=shape, dtype="float64", device=device), 2.0**-54)
        return (loc - scale * log(-log1p(-u))).astype(wanted, copy=False)

    def gamma(
        self,
        alpha: float,
        scale: float = 1.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Gamma distributed with shape parameter ``alpha``: density x^(alpha-1) exp(-x / scale), normalised.

        Source: G. Marsaglia, W. Tsang, "A simple method for generating gamma variables" (2000).

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).gamma(2.0, shape=(3,)).shape
        (3,)
        """
        _positive("gamma", alpha=alpha, scale=scale)
        out = floating(shape, dtype, device, "gamma")
        stream = self._own_stream()
        if alpha >= 1.0:
            drawn = _gamma(stream, alpha, out.size, out.device)
        else:
            drawn = exp(_log_gamma(stream, alpha, out.size, out.device))
        return (drawn * scale).astype(out.dtype, copy=False).reshape(out.shape)

    def beta(
        self, a: float, b: float, shape: Shape = (), *, dtype: DTypeLike = "float32", device: DeviceLike | None = None
    ) -> NDArray:
        """Beta distributed: density x^(a-1) (1-x)^(b-1), normalised; X / (X + Y) of two gamma variates.

        >>> import treadle.ndarray as nd
        >>> 0 <= nd.random.Generator(0).beta(0.5, 0.5).item() <= 1
        True
        """
        _positive("beta", a=a, b=b)
        out = floating(shape, dtype, device, "beta")
        stream = self._own_stream()
        if max(a, b) < _POINTS:
            share = a / max(a, b) / (a / max(a, b) + b / max(a, b))
            drawn = stream.uniform(shape=out.shape, dtype="float64", device=out.device)
            return (drawn < share).astype(out.dtype)
        x, y = (_log_gamma(stream, each, out.size, out.device) for each in (a, b))
        return sigmoid(x - y).astype(out.dtype, copy=False).reshape(out.shape)

    def truncated_normal(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        low: float = -2.0,
        high: float = 2.0,
        shape: Shape = (),
        *,
        dtype: DTypeLike = "float32",
        device: DeviceLike | None = None,
    ) -> NDArray:
        """Normally distributed under the condition of lying in [low, high], of which either may be infinite.

        Source: C. Robert, "Simulation of truncated normal variables" (1995).

        >>> import treadle.ndarray as nd
        >>> 3 <= nd.random.Generator(0).truncated_normal(low=3.0, high=nd.inf).item() < 9
        True
        """
        _positive("truncated_normal", std=std)
        if not math.isfinite(mean) or not low < high:
            raise ValueError(f"truncated_normal: [{low}, {high}] is empty, or the mean {mean} is not finite")
        out = floating(shape, dtype, device, "truncated_normal")
        first, last = (low - mean) / std, (high - mean) / std
        mirrored = last < 0.0
        if mirrored:
            first, last = -last, -first
        z = _tail(self._own_stream(), first, last, out.size, out.device)
        drawn = mean + std * z
        if first > 0.0:  # from the end that is nearer to the mean: far out, the sum above loses the digits
            drawn = high - std * (z - first) if mirrored else low + std * (z - first)
        drawn = drawn.astype(out.dtype, copy=False)
        return _within(drawn, low, high).reshape(out.shape)

    def poisson(self, rate: float, shape: Shape = (), *, device: DeviceLike | None = None) -> NDArray:
        """int64, the number of events where ``rate`` are expected. Raises ValueError unless 0 <= rate <= 1e9.

        Drawn from a table of the probabilities (alias method), made once for a rate.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).poisson(0.0).item()
        0
        """
        if not 0.0 <= rate <= 1e9:
            raise ValueError(f"poisson: rate is {rate}, it must be in [0, 1e9]")
        if rate == 0.0:
            return full(shape, 0, dtype="int64", device=device)
        return self._from_table(_poisson_table(float(rate)), shape, device)

    def binomial(self, trials: int, p: float, shape: Shape = (), *, device: DeviceLike | None = None) -> NDArray:
        """int64, how many of ``trials`` succeed with probability ``p`` each.

        Raises ValueError unless 0 <= p <= 1 and 0 <= trials < 2**31. Drawn from a table as :meth:`poisson`.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).binomial(5, 1.0).item()
        5
        """
        trials = operator.index(trials)
        if not 0 <= p <= 1 or not 0 <= trials < 1 << 31:
            raise ValueError(f"binomial: p is {p} and trials {trials}; they must be in [0, 1] and [0, 2**31)")
        if p in (0.0, 1.0) or trials == 0:
            return full(shape, trials if p == 1.0 else 0, dtype="int64", device=device)
        return self._from_table(_binomial_table(trials, float(p)), shape, device)

    def geometric(self, p: float, shape: Shape = (), *, device: DeviceLike | None = None) -> NDArray:
        """int64, at which trial the first success comes, from 1 on. Raises ValueError unless 1e-15 <= p <= 1.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(0).geometric(1.0).item()
        1
        """
        if not 1e-15 <= p <= 1.0:
            raise ValueError(f"geometric: p is {p}, it must be in [1e-15, 1]")
        if p == 1.0:
            return full(shape, 1, dtype="int64", device=device)
        u = self.uniform(shape=shape, dtype="float64", device=device)
        return maximum(ceil(log1p(-u) / math.log1p(-p)), 1.0).astype("int64")


def _within(x: NDArray, low: float, high: float) -> NDArray:
    """x cut to [low, high], past which rounding may have taken it."""
    x = maximum(x, low) if math.isfinite(low) else x
    return -maximum(-x, -high) if math.isfinite(high) else x


def _probabilities(p: Sequence[float] | NDArray, count: int) -> list[float]:
    tolerance = 4e-4 if getattr(p, "dtype", None) == "float32" else 1e-8  # the square root of the spacing, as in NumPy
    given = as_array(p)
    if given.shape != (count,) or given.dtype.kind == "c":
        raise ShapeError(
            f"choice: {given.size} probabilities for {count} to choose from (p has shape {given.shape} and dtype "
            f"{given.dtype.name})"
        )
    weights = [float(each) for each in (p if isinstance(p, list | tuple) else given.tolist())]
    if any(not 0.0 <= each < math.inf for each in weights) or abs(math.fsum(weights) - 1.0) > tolerance:
        raise ValueError(f"choice: p must not be negative and sum to 1; the sum is {math.fsum(weights)}")
    return weights
