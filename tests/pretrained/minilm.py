"""all-MiniLM-L6-v2 on treadle.nn: a BERT encoder whose mean over the tokens is the meaning of a sentence.

Devlin et al. 2018, "BERT"; Wang et al. 2020, "MiniLM"; Reimers and Gurevych 2019, "Sentence-BERT". The modules are
those of treadle.nn; :func:`renamed` says which weight of the file goes where.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import treadle.autograd as autograd
import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor, no_grad

WIDTH, HEADS, LAYERS, HIDDEN = 384, 12, 6, 1536
WORDS, PLACES, KINDS = 30522, 512, 2
EPSILON = 1e-12


class MiniLM(nn.Module):
    """Tokens (batch, length) and their mask give embeddings (batch, WIDTH) of norm 1."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(PLACES, WIDTH)
        self.kinds = nn.Embedding(KINDS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, HIDDEN, activation="gelu", layer_norm_eps=EPSILON, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """``mask`` is True at the tokens and False at the padding; all are of the first kind of sentence."""
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]] + self.kinds.weight[0]
        x = self.encoder(self.norm(x), src_key_padding_mask=autograd.logical_not(mask))
        shares = autograd.expand_dims(mask.astype(x.dtype), axis=2)
        return nn.functional.normalize(autograd.sum(x * shares, axis=1) / autograd.sum(shares, axis=1), dim=1)


def renamed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of BERT's names under those of :class:`MiniLM`; queries, keys and values become one matrix."""
    found = {
        "words.weight": weights["embeddings.word_embeddings.weight"],
        "places.weight": weights["embeddings.position_embeddings.weight"],
        "kinds.weight": weights["embeddings.token_type_embeddings.weight"],
    }
    parts = {"norm": "embeddings.LayerNorm"}
    for number in range(LAYERS):
        here, there = f"encoder.layers.{number}", f"encoder.layer.{number}"
        parts[f"{here}.self_attn.out_proj"] = f"{there}.attention.output.dense"
        parts[f"{here}.norm1"] = f"{there}.attention.output.LayerNorm"
        parts[f"{here}.linear1"] = f"{there}.intermediate.dense"
        parts[f"{here}.linear2"] = f"{there}.output.dense"
        parts[f"{here}.norm2"] = f"{there}.output.LayerNorm"
        for kind in ("weight", "bias"):
            three = [weights[f"{there}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")]
            found[f"{here}.self_attn.in_proj_{kind}"] = autograd.concat(three, axis=0)
    return found | {
        f"{new}.{kind}": weights[f"{old}.{kind}"] for new, old in parts.items() for kind in ("weight", "bias")
    }


class WordPiece:
    """BERT's tokens: lower-case words without accents, cut into the longest pieces that the vocabulary has.

    Schuster and Nakajima 2012, "Japanese and Korean voice search"; the cutting is Devlin's.
    """

    LONGEST_WORD = 100

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def __call__(self, text: str) -> list[int]:
        """The numbers of a text, between those of [CLS] and [SEP]."""
        pieces = [piece for word in self._words(text) for piece in self._pieces(word)]
        return [self.numbers[piece] for piece in ("[CLS]", *pieces, "[SEP]")]

    def _words(self, text: str) -> list[str]:
        kept = (" " if char.isspace() else char for char in text if char.isspace() or not _is_control(char))
        spaced = (f" {char} " if _stands_alone(char) else char for char in kept)
        plain = unicodedata.normalize("NFD", "".join(spaced).lower())
        return re.sub(r"[\u0300-\u036f]", "", plain).split()

    def _pieces(self, word: str) -> Iterator[str]:
        if len(word) > self.LONGEST_WORD:
            return iter(("[UNK]",))
        found, start = [], 0
        while start < len(word):
            before = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if before + word[start:end] in self.numbers), None)
            if end is None:
                return iter(("[UNK]",))
            found.append(before + word[start:end])
            start = end
        return iter(found)


def _is_control(char: str) -> bool:
    return char in "\x00\ufffd" or unicodedata.category(char) in ("Cc", "Cf")


def _stands_alone(char: str) -> bool:
    """Punctuation, the signs of ASCII, and ideographs."""
    sign = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return sign or unicodedata.category(char)[0] == "P" or "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf"


def padded(rows: list[list[int]]) -> tuple[nd.NDArray, nd.NDArray]:
    """Rows of one length, filled with 0, and the mask of what was there."""
    length = max(map(len, rows))
    tokens = nd.asarray([row + [0] * (length - len(row)) for row in rows])
    mask = nd.asarray([[at < len(row) for at in range(length)] for row in rows])
    return tokens, mask


def embed(model: MiniLM, tokenizer: WordPiece, sentences: list[str]) -> Any:
    """The embeddings of sentences, (sentences, WIDTH)."""
    tokens, mask = padded([tokenizer(sentence) for sentence in sentences])
    with no_grad():
        return model(Tensor(tokens), Tensor(mask)).data
