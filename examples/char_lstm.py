"""A recurrent network learns to write like the help pages of Python, one character after the other.

The text comes with Python (``pydoc_data.topics``). The network reads windows of it and predicts each next character;
the loss is measured on text that it has not seen, and compared with a bigram model's, which looks one character back.

    python examples/char_lstm.py
"""

from collections.abc import Sequence

from common import parse, run
from text import Corpus, report, sample, train
from treadle import nn
from treadle.autograd import Tensor

LENGTH = 64


class CharacterLSTM(nn.Module):
    """Characters become vectors, an LSTM carries what it has read, and a linear map scores each possible next one."""

    def __init__(self, letters: int, width: int = 192) -> None:
        super().__init__()
        self.embedding = nn.Embedding(letters, 64)
        self.lstm = nn.LSTM(64, width, batch_first=True)
        self.head = nn.Linear(width, letters)

    def forward(self, characters: Tensor) -> Tensor:
        """Scores of the next character at every place: (batch, length) gives (batch, length, letters)."""
        return self.head(self.lstm(self.embedding(characters))[0])  # type: ignore[no-any-return]


class Reader:
    """The network reading on: it keeps the state that the characters so far have left."""

    def __init__(self, model: CharacterLSTM) -> None:
        self.model = model
        self.state: tuple[Tensor, Tensor] | None = None

    def __call__(self, characters: Tensor) -> Tensor:
        found, self.state = self.model.lstm(self.model.embedding(characters), self.state)
        return self.model.head(found)  # type: ignore[no-any-return]


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, and write a sample; returns the losses in bits a character."""
    options = parse(argv, str(__doc__), name="char-lstm", unit="steps", length=1500, fast=60, batch_size=32)
    corpus = Corpus.read()
    with run(options) as clock:
        model = CharacterLSTM(corpus.size)
        trainer = train(model, corpus, options, length=LENGTH, lr=5e-3)
        print(f"a sample:\n{sample(corpus.letters, Reader(model), 400)}\n")
    return report(trainer, corpus, options, clock)


if __name__ == "__main__":
    main()
