"""Random numbers from a counter-based generator: the same seed gives the same bits on every device.

The generator is Philox 4x32-10 (``include/treadle/random.h``). Bits, uniform numbers, integers, bernoulli, permutation,
choice, poisson and binomial draws are the same on every device bit for bit; those that go through logarithms and their
like (normal, exponential, gamma, ...) within a few ulp, wherever no rejection hangs on the last bit.
"""

from typing import TYPE_CHECKING, Any

from treadle.ndarray._edge import Guarded
from treadle.ndarray.distributions import Distributions
from treadle.ndarray.hints import RANDOM_FUNCTIONS, no_name

__all__ = [
    "Generator", "bernoulli", "beta", "binomial", "bits", "choice", "default_generator", "exponential", "gamma",
    "geometric", "gumbel", "integers", "laplace", "manual_seed", "normal", "permutation", "poisson", "truncated_normal",
    "uniform",
]  # fmt: skip

JUMP = 1 << 40
"""Blocks of four words that :meth:`Generator.jump` skips."""


class Generator(Distributions):
    """A stream of random numbers: a 64-bit seed and the count of blocks drawn so far.

    Without a seed one is taken from the operating system.

    >>> from treadle.ndarray.random import Generator
    >>> Generator(1).integers(0, 10, (3,)).tolist() == Generator(1).integers(0, 10, (3,)).tolist()
    True
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called for what is not there; the error says how it is written here."""
            raise no_name("Generator", name, RANDOM_FUNCTIONS)

    def spawn(self, count: int) -> "list[Generator]":
        """Generators for as many workers, with seeds drawn from this stream, which moves on.

        >>> import treadle.ndarray as nd
        >>> [len({each.seed for each in nd.random.Generator(0).spawn(3)})]
        [3]
        """
        return [Generator(seed) for seed in self.bits((count,), device="cpu").tolist()]

    def jump(self, count: int = 1) -> "Generator":
        """A generator on the same stream, ``count`` times 2**40 blocks (2**42 words) ahead; this one stays.

        Raises ValueError unless 0 <= count < 2**24, the number of such stretches in the stream.

        >>> import treadle.ndarray as nd
        >>> nd.random.Generator(7).jump().state()
        {'seed': 7, 'counter': 1099511627776}
        """
        if not 0 <= count < 1 << 24:
            raise ValueError(f"jump: count is {count}, it must be in [0, 2**24)")
        ahead = Generator(self.seed)
        ahead.set_state({"seed": self.seed, "counter": (self.counter + count * JUMP) % 2**64})
        return ahead


for _kind in Generator.__mro__[:-1]:
    for _name, _method in list(vars(_kind).items()):
        if not _name.startswith("_"):
            _method.__qualname__ = f"Generator.{_name}"  # not the base class, which nobody knows
            setattr(_kind, _name, Guarded(_method, __name__))

default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, which the functions of this module and the layers above draw from.

    >>> import treadle.ndarray as nd
    >>> a = nd.random.manual_seed(3).uniform(shape=(2,))
    >>> b = nd.random.manual_seed(3).uniform(shape=(2,))
    >>> nd.all(a == b).item()
    True
    """
    return default_generator.manual_seed(seed)


bits = default_generator.bits
uniform = default_generator.uniform
normal = default_generator.normal
integers = default_generator.integers
bernoulli = default_generator.bernoulli
permutation = default_generator.permutation
choice = default_generator.choice
exponential = default_generator.exponential
gamma = default_generator.gamma
beta = default_generator.beta
laplace = default_generator.laplace
gumbel = default_generator.gumbel
truncated_normal = default_generator.truncated_normal
poisson = default_generator.poisson
binomial = default_generator.binomial
geometric = default_generator.geometric


if not TYPE_CHECKING:  # to type checkers it would make every misspelt name a known one

    def __getattr__(name: str) -> Any:
        """Called for what is not there; the error says how it is written here."""
        raise no_name(f"module {__name__!r}", name, RANDOM_FUNCTIONS)
