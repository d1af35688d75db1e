"""Text as numbers: characters or words, their vocabulary, and windows of them to predict the next from."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.dataset import Dataset

__all__ = ["TokenWindows", "Vocabulary", "split_words"]

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


def split_words(text: str) -> list[str]:
    """Words, with their apostrophes, and marks of punctuation, each for itself.

    >>> split_words("Don't panic, 42!")
    ["Don't", 'panic', ',', '42', '!']
    """
    return _WORD.findall(text)


class Vocabulary:
    """Numbers for tokens, in the order given; what is not in it becomes ``unknown`` where there is one.

    >>> letters = Vocabulary.of("abracadabra")
    >>> letters.tokens, letters.encode("cab").tolist()
    (['a', 'b', 'c', 'd', 'r'], [2, 0, 1])
    >>> words = Vocabulary.of(split_words("to be or not to be"), smallest_count=2, unknown="<unk>")
    >>> words.tokens, words.decode(words.encode(["to", "see"]))
    (['<unk>', 'be', 'to'], ['to', '<unk>'])
    """

    def __init__(self, tokens: Iterable[str], unknown: str | None = None) -> None:
        self.tokens = list(tokens)
        self.unknown = unknown
        self._numbers = {token: number for number, token in enumerate(self.tokens)}
        if len(self._numbers) != len(self.tokens):
            raise ValueError("a vocabulary has a token twice")
        if unknown is not None and unknown not in self._numbers:
            raise ValueError(f"unknown={unknown!r} is not among the tokens")

    @classmethod
    def of(
        cls,
        tokens: Iterable[str],
        *,
        smallest_count: int = 1,
        largest_size: int | None = None,
        unknown: str | None = None,
    ) -> "Vocabulary":
        """The tokens that occur ``smallest_count`` times or more, the ``largest_size`` most frequent, sorted.

        ``unknown``, if given, comes before them and is counted too.
        """
        if largest_size is not None and largest_size < 1:
            raise ValueError(f"largest_size must be 1 or more, not {largest_size}")
        counts = Counter(tokens)
        if unknown is not None:
            counts.pop(unknown, None)
        frequent = sorted((token for token in counts if counts[token] >= smallest_count), key=lambda t: (-counts[t], t))
        room = largest_size if largest_size is None or unknown is None else largest_size - 1
        first = [] if unknown is None else [unknown]
        return cls([*first, *sorted(frequent[:room])], unknown)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def __getitem__(self, token: str) -> int:
        number = self._numbers.get(token)
        if number is None:
            if self.unknown is None:
                raise KeyError(f"{token!r} is not in the vocabulary of {len(self)}, which has no unknown token")
            number = self._numbers[self.unknown]
        return number

    def encode(self, tokens: Iterable[str]) -> nd.NDArray:
        """The numbers of tokens, 1-D int64; a string is a sequence of characters."""
        return nd.asarray(
            [self[token] for token in tokens] or nd.empty((0,), dtype="int64"), dtype="int64", device="cpu"
        )

    def decode(self, numbers: Any) -> list[str]:
        """The tokens of numbers: of an array, a tensor or a sequence; IndexError for one that is no token's."""
        data = numbers.data if isinstance(numbers, Tensor) else numbers
        values = data.tolist() if hasattr(data, "tolist") else list(data)
        wrong = next((value for value in values if not 0 <= value < len(self)), None)
        if wrong is not None:
            raise IndexError(f"{wrong} is the number of no token in the vocabulary of {len(self)}")
        return [self.tokens[value] for value in values]


class TokenWindows(Dataset):
    """Stretches of a long row of tokens, and the same one token later: what a language model learns from.

    Sample i is ``(tokens[s : s + length], tokens[s + 1 : s + length + 1])`` at ``s = i * stride``, int64; ``stride`` is
    ``length`` by default, so that no token is predicted twice. ``tokens`` are a 1-D array of integers, or what
    ``len`` and slices of it say, such as a :class:`~treadle.data.TokenFile`.

    >>> windows = TokenWindows(nd.arange(10), length=3)
    >>> len(windows), [part.numpy().tolist() for part in windows[1]]
    (3, [[3, 4, 5], [4, 5, 6]])
    """

    def __init__(self, tokens: Any, length: int, stride: int | None = None) -> None:
        self.tokens = tokens.data if isinstance(tokens, Tensor) else tokens
        self.length = length
        self.stride = length if stride is None else stride
        if length < 1 or self.stride < 1:
            raise ValueError(f"length and stride must be 1 or more, not {length} and {self.stride}")
        if len(self.tokens) <= length:
            raise ValueError(f"{len(self.tokens)} tokens are too few for a window of {length} and the one after it")

    def __len__(self) -> int:
        return (len(self.tokens) - 1 - self.length) // self.stride + 1

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        row = self._row(index)
        return Tensor(row[:-1]), Tensor(row[1:])

    def _row(self, index: int) -> nd.NDArray:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} of {len(self)} windows")
        start = place * self.stride
        return nd.asarray(self.tokens[start : start + self.length + 1], dtype="int64")

    def fetch_batch(self, indices: nd.NDArray) -> tuple[Tensor, Tensor]:
        """Windows as rows: two tensors of shape (batch, length)."""
        rows = nd.stack([self._row(index) for index in indices.tolist()], axis=0)
        return Tensor(rows[:, :-1].copy()), Tensor(rows[:, 1:].copy())
