"""Every layer against PyTorch's of the same name: forward, gradients, one step of SGD, state dicts both ways."""

import copy
import inspect
from typing import Any

import numpy as np
import pytest
from packages.nn.tests.parity.compare import (
    Sample,
    assert_close,
    cases,
    compare_modules,
    missing,
    public_classes,
    randomize,
    same_state,
    to_torch,
    torch,
)
from packages.nn.tests.parity.layer_samples import ELSEWHERE, LAYERS

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor

pytestmark = [
    pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
    pytest.mark.filterwarnings("ignore:LSTM with projections"),
]
STACKS = ("TransformerEncoder", "TransformerDecoder")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "sample"), cases(LAYERS))
def test_layer(name: str, sample: Sample, dtype: str) -> None:
    ours: Any = getattr(nn, name)(*sample.arguments, **sample.options).to(nd.dtype(dtype))
    theirs = getattr(torch.nn, name)(*sample.arguments, **sample.options).to(getattr(torch, dtype))
    compare_modules(ours, theirs, sample, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STACKS)
def test_stack(name: str, dtype: str) -> None:
    inputs = [(5, 2, 8), (3, 2, 8)][: 1 + (name == "TransformerDecoder")]

    def build(library: Any) -> Any:
        layer = getattr(library, f"{name}Layer")(8, 2, 12, dropout=0.0)
        return getattr(library, name)(layer, 2, norm=library.LayerNorm(8))

    theirs = build(torch.nn).to(getattr(torch, dtype))
    compare_modules(build(nn).to(nd.dtype(dtype)), theirs, Sample(inputs=inputs), dtype)


def test_every_public_layer_is_compared() -> None:
    """A new class without a sample fails here."""
    classes = public_classes(nn.layers, nn.Module)
    assert missing(classes, LAYERS, ELSEWHERE, STACKS) == []
    assert missing(LAYERS, classes) == []


@pytest.mark.parametrize("name", sorted([*LAYERS, *STACKS]))
def test_arguments_are_those_of_pytorch(name: str) -> None:
    """The same names in the same order, with the same defaults; private ones of PyTorch apart."""
    ours = inspect.signature(getattr(nn, name)).parameters
    kind = getattr(torch.nn, name)
    if kind.__name__ in ("RNN", "LSTM", "GRU"):
        return  # PyTorch takes *args
    theirs = inspect.signature(kind).parameters
    known = {
        key: each for key, each in theirs.items() if not key.startswith("_") and key not in ("min_value", "max_value")
    }
    if list(known) == ["args", "kwargs"] and name != "Identity":
        known = {}  # no __init__ of its own
    assert list(ours) == list(known)
    for key, each in known.items():
        default = ours[key].default
        if callable(each.default) and each.default is not inspect.Parameter.empty:
            assert default == each.default.__name__
        elif key != "args" and key != "kwargs":
            assert default == each.default or (default is inspect.Parameter.empty) == (
                each.default is inspect.Parameter.empty
            ), key


@pytest.mark.parametrize(("name", "sample"), cases(LAYERS))
def test_repr(name: str, sample: Sample) -> None:
    theirs = repr(getattr(torch.nn, name)(*sample.arguments, **sample.options))
    theirs = theirs.replace("NonDynamicallyQuantizableLinear", "Linear")
    assert repr(getattr(nn, name)(*sample.arguments, **sample.options)) == theirs


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("enforce_sorted", [True, False])
def test_packed_sequences(kind: str, enforce_sorted: bool) -> None:
    lengths = [5, 3, 1] if enforce_sorted else [3, 5, 1]
    theirs = getattr(torch.nn, kind)(4, 6, 2, bidirectional=True).double()
    ours: Any = getattr(nn, kind)(4, 6, 2, bidirectional=True).to(nd.float64)
    randomize(theirs, 0)
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = torch.randn(5, 3, 4, dtype=torch.float64, requires_grad=True)
    mine = Tensor(x.detach().numpy().copy(), requires_grad=True)
    rnn = torch.nn.utils.rnn
    packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
    own = nn.utils.rnn.pack_padded_sequence(mine, lengths, enforce_sorted=enforce_sorted)
    for found, expected in zip(own, packed, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            assert_close(found, expected, "packed")
    out, state = theirs(packed)
    our_out, our_state = ours(own)
    assert_close(our_out.data, out.data, "data")
    for found, expected in zip(our_state, state, strict=True) if kind == "LSTM" else [(our_state, state)]:
        assert_close(found, expected, "last state")
    padded, sizes = rnn.pad_packed_sequence(out, total_length=7, padding_value=-1.0)
    our_padded, our_sizes = nn.utils.rnn.pad_packed_sequence(our_out, total_length=7, padding_value=-1.0)
    assert_close(our_padded, padded, "padded")
    assert our_sizes.tolist() == sizes.tolist()
    weights = torch.randn(padded.shape, dtype=torch.float64)
    (padded * weights).sum().backward()
    (our_padded * Tensor(weights.numpy())).sum().backward()
    assert_close(mine.grad, x.grad, "gradient")
    for name, parameter in theirs.named_parameters():
        assert_close(ours.get_parameter(name).grad, parameter.grad, name)


def test_a_model_of_pytorch_moves_over_and_back() -> None:
    def build(library: Any) -> Any:
        return library.Sequential(
            library.Conv2d(3, 4, 3, padding=1), library.BatchNorm2d(4), library.ReLU(), library.MaxPool2d(2),
            library.Flatten(), library.Linear(64, 5),
        )  # fmt: skip

    theirs, ours = build(torch.nn).eval(), build(nn).eval()
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    x = torch.randn(2, 3, 8, 8)
    assert_close(ours(Tensor(x.numpy())), theirs(x), "output")
    again = build(torch.nn).eval()
    again.load_state_dict({name: to_torch(value) for name, value in ours.state_dict().items()})
    assert_close(ours(Tensor(x.numpy())), again(x), "output")


class Mixed:
    """A model with parameters, buffers of two dtypes, and every container of state; of either library."""

    @staticmethod
    def build(library: Any) -> Any:
        return library.ModuleDict(
            {
                "image": library.Sequential(
                    library.Conv2d(2, 4, 3, bias=False), library.BatchNorm2d(4), library.PReLU(4)
                ),
                "series": library.LSTM(4, 3, 2, bidirectional=True, proj_size=2),
                "words": library.Embedding(7, 4, padding_idx=0),
                "attention": library.TransformerDecoderLayer(4, 2, 8),
                "lists": library.ModuleList([library.GRUCell(4, 3), library.LayerNorm(4)]),
                "alone": library.ParameterList([library.Linear(2, 3).weight]),
            }
        )


def test_weights_travel_both_ways_through_safetensors(tmp_path: Any) -> None:
    """Written by one library, read by the other's own reader, name by name and byte by byte."""
    safetensors = pytest.importorskip("safetensors.torch")
    ours, theirs = Mixed.build(nn), Mixed.build(torch.nn)
    theirs["image"][1].num_batches_tracked += 5
    safetensors.save_file(theirs.state_dict(), tmp_path / "theirs.safetensors")
    ours.load_state_dict(nn.load_file(tmp_path / "theirs.safetensors"))
    same_state(ours, theirs)
    for parameter in ours.parameters():
        nn.init.normal_(parameter)
    ours["image"][1].running_var.data[...] = 2.0
    nn.save_file(ours.state_dict(), tmp_path / "ours.safetensors")
    theirs.load_state_dict(safetensors.load_file(tmp_path / "ours.safetensors"))
    same_state(ours, theirs)
    assert theirs["image"][1].num_batches_tracked.item() == 5


def test_copies_share_nothing() -> None:
    ours = Mixed.build(nn)
    again = copy.deepcopy(ours)
    before = {name: value.numpy().copy() for name, value in ours.state_dict().items()}
    for tensor in (*again.parameters(), *again.buffers()):
        tensor.data[...] = tensor.data * 0 + 3
    for name, value in ours.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])
    assert list(again.state_dict()) == list(before)
    assert repr(again) == repr(ours)
