"""A small GPT learns to write like the help pages of Python, one character after the other.

The text comes with Python (``pydoc_data.topics``). Each place of a window attends to those before it; the loss is
measured on text that it has not seen, and compared with a bigram model's, which looks one character back.
Radford et al. 2019, "Language models are unsupervised multitask learners".

    python examples/char_gpt.py
"""

from collections.abc import Sequence

import treadle.ndarray as nd
from common import parse, run
from text import Corpus, report, sample, train
from treadle import nn
from treadle.autograd import Tensor

LENGTH = 64


class GPT(nn.Module):
    """Vectors of characters and of places, ``depth`` blocks of causal attention, and a map to scores.

    The map is the table of the characters' vectors again: one parameter in two places.
    """

    def __init__(self, letters: int, length: int, width: int = 128, heads: int = 4, depth: int = 2) -> None:
        super().__init__()
        self.length = length
        self.characters = nn.Embedding(letters, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.characters.weight
        for embedding in (self.characters, self.places):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, characters: Tensor, caches: list[nn.KeyValueCache] | None = None) -> Tensor:
        """Scores of the next character at every place: (batch, length) gives (batch, length, letters)."""
        past = len(caches[0]) if caches else 0
        places = Tensor(nd.arange(past, past + characters.shape[1]))
        x = self.characters(characters) + self.places(places)
        for at, block in enumerate(self.blocks):
            x = block(x, is_causal=True, cache=caches[at] if caches else None)
        return self.head(self.norm(x))  # type: ignore[no-any-return]


class Reader:
    """The model reading on: caches keep the keys and values of each block, so that a step computes one place."""

    def __init__(self, model: GPT) -> None:
        self.model = model
        self.caches = [nn.KeyValueCache() for _ in model.blocks]
        self.read = nd.zeros((1, 0), dtype=nd.int64)

    def __call__(self, characters: Tensor) -> Tensor:
        self.read = nd.concat([self.read, characters.data], axis=1)
        if len(self.caches[0]) + characters.shape[1] > self.model.length:  # full: begin again with the last half
            self.caches = [nn.KeyValueCache() for _ in self.model.blocks]
            characters = Tensor(self.read[:, -(self.model.length // 2) :])
        return self.model(characters, self.caches)  # type: ignore[no-any-return]


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, and write a sample; returns the losses in bits a character."""
    options = parse(argv, str(__doc__), name="char-gpt", unit="steps", length=1500, fast=40, batch_size=16)
    corpus = Corpus.read()
    with run(options) as clock:
        model = GPT(corpus.size, LENGTH)
        trainer = train(model, corpus, options, length=LENGTH, lr=2e-3)
        print(f"a sample:\n{sample(corpus.letters, Reader(model), 400)}\n")
    return report(trainer, corpus, options, clock)


if __name__ == "__main__":
    main()
