"""English text of the standard library for the language models: the corpus, training, a bigram model, sampling."""

import argparse
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pydoc_data.topics import topics
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from common import Clock, tell
from treadle import nn
from treadle.autograd import Tensor, no_grad
from treadle.data import DataLoader, RandomSampler, TokenWindows, Vocabulary
from treadle.nn import functional
from treadle.optim import AdamW
from treadle.optim.lr_scheduler import OneCycleLR

HELD_OUT = 0.1
EVALUATIONS = 6
START = "The "


@dataclass(frozen=True)
class Corpus:
    """The text as numbers of characters: nine tenths to train on, the last tenth held out."""

    letters: Vocabulary
    train: nd.NDArray
    held_out: nd.NDArray

    @classmethod
    def read(cls) -> "Corpus":
        """The pages of ``help()``; characters that are seen fewer than 10 times become one."""
        text = "\n".join(topics[name] for name in sorted(topics))
        letters = Vocabulary.of(text, smallest_count=10, unknown="\ufffd")
        numbers = letters.encode(text)
        cut = int(len(text) * (1.0 - HELD_OUT))
        return cls(letters, numbers[:cut], numbers[cut:])

    @property
    def size(self) -> int:
        """How many different characters there are."""
        return len(self.letters)

    def loaders(self, length: int, batch_size: int, steps: int) -> tuple[DataLoader, DataLoader]:
        """``steps`` batches of windows at random places, and the held-out text in windows one after the other."""
        windows = TokenWindows(self.train, length, stride=1)
        sampler = RandomSampler(windows, replacement=True, num_samples=steps * batch_size)
        return (
            DataLoader(windows, batch_size, sampler=sampler),
            DataLoader(TokenWindows(self.held_out, length), batch_size),
        )

    def bigram_loss(self) -> float:
        """The loss, in nats a character, of the best model that sees one character back, on the held-out text.

        It knows how often each pair occurs in the training text, each counted once more than it does.
        """
        seen, asked = self.train.tolist(), self.held_out.tolist()
        pairs, firsts = Counter(pairwise(seen)), Counter(seen[:-1])
        size = len(self.letters)
        chances = [(pairs[first, then] + 1) / (firsts[first] + size) for first, then in pairwise(asked)]
        return -sum(map(math.log, chances)) / len(chances)


def next_character_loss(scores: Tensor, target: Tensor) -> Tensor:
    """The mean cross-entropy over all places: scores (batch, length, letters), target (batch, length)."""
    return functional.cross_entropy(autograd.reshape(scores, (-1, scores.shape[-1])), autograd.reshape(target, (-1,)))


def train(model: nn.Module, corpus: Corpus, options: argparse.Namespace, *, length: int, lr: float) -> nn.Trainer:
    """Train for ``options.length`` steps on windows of ``length`` characters, the rate rising to ``lr`` and falling."""
    epochs = 2 if options.fast else min(EVALUATIONS, options.length)
    loader, held_out = corpus.loaders(length, options.batch_size, options.length // epochs)
    optimizer = AdamW(model.parameters(), lr=lr)
    trainer = nn.Trainer(
        model,
        optimizer,
        next_character_loss,
        scheduler=OneCycleLR(optimizer, lr, epochs=epochs, steps_per_epoch=len(loader)),
        scheduler_interval="step",
        max_grad_norm=1.0,
        show_progress=not options.quiet,
    )
    trainer.fit(loader, epochs, held_out)
    return trainer


def report(trainer: nn.Trainer, corpus: Corpus, options: argparse.Namespace, clock: Clock) -> dict[str, float]:
    """Save weights and curves, and say what was reached; the losses in bits a character."""
    measured = {"loss": trainer.history["validation_loss"][-1], "bigram": corpus.bigram_loss()}
    result = {name: nats / math.log(2.0) for name, nats in measured.items()}
    weights, curves = options.out / "weights.safetensors", options.out / "training.png"
    trainer.save_weights(weights)
    trainer.history.save_plot(curves)
    text = f"held-out loss {result['loss']:.2f} bits a character; a bigram model has {result['bigram']:.2f}"
    tell(text, clock, [weights, curves])
    return result


def sample(
    letters: Vocabulary, next_scores: Callable[[Tensor], Any], length: int, start: str = START, temperature: float = 0.8
) -> str:
    """``start`` and ``length`` characters more, each drawn from what the model thinks of those before it.

    ``next_scores`` takes the characters that are new to it, (1, n), and returns scores (1, n, letters).
    """
    text = letters.encode(start)
    new = text
    with no_grad():
        for _ in range(length):
            scores = next_scores(Tensor(new[None, :]))[0, -1] * (1.0 / temperature)
            chances = nd.cumulative_sum(functional.softmax(scores, dim=-1).data)
            drawn = int(nd.sum(chances < nd.random.uniform()).item())
            new = nd.asarray([min(drawn, len(letters) - 1)], dtype=nd.int64)
            text = nd.concat([text, new])
    return "".join(letters.decode(text))
