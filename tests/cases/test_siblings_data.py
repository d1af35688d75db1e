"""Faults that users of other libraries reported of metrics, files, data sets and loaders, and their relatives.

Each test names reports of the kind; expected values come from mathematics, scikit-learn and PyTorch.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle import nn
from treadle.autograd import Tensor
from treadle.data import (
    DataFileError,
    DataLoader,
    Dataset,
    ImageFolder,
    RandomSampler,
    Vocabulary,
    WorkerError,
    default_collate,
    random_split,
    read_csv,
)
from treadle.data.progress import progress
from treadle.data.transforms import Compose, RandomApply, Resize
from treadle.nn import functional, metrics

INF = math.inf


# --- metrics ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [metrics.MeanAbsoluteError, metrics.MeanSquaredError])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float16", "bfloat16"])
def test_errors_of_narrow_numbers(dtype: str, kind: Any) -> None:
    """scikit-learn/scikit-learn#28827: 1 - 3 is 254 in uint8, 300**2 infinite."""
    largest = {"bool": 1, "int8": 127, "uint8": 255}.get(dtype, 300)
    output, target = (nd.asarray(each, dtype=dtype) for each in ([0, largest, 1], [largest, 0, 1]))
    metric = kind()
    metric.update(Tensor(output), Tensor(target))
    power = 1 if kind is metrics.MeanAbsoluteError else 2
    assert metric.compute().item() == pytest.approx(2 * largest**power / 3, rel=1e-6)


OUTSIDE: dict[str, Callable[[Tensor], Any]] = {
    "accuracy": lambda target: metrics.accuracy(Tensor([[1.0, 2.0]]), target),
    "top_k_accuracy": lambda target: metrics.top_k_accuracy(Tensor([[1.0, 2.0]]), target, 2),
    "confusion_matrix": lambda target: metrics.confusion_matrix(Tensor([[1.0, 2.0]]), target),
    "roc_auc": lambda target: metrics.roc_auc(Tensor([0.5, 0.2]), Tensor([*target.tolist(), 0])),
    "roc_auc, classes": lambda target: metrics.roc_auc(Tensor([[0.5, 0.5]]), target),
}


@pytest.mark.parametrize("target", [-1, -100, 2])
@pytest.mark.parametrize("name", OUTSIDE)
def test_targets_that_are_no_class(name: str, target: int) -> None:
    """Lightning-AI/torchmetrics#1556, #1040: -1 counted from the end, and was among the best two."""
    with pytest.raises(nd.IndexingError, match=r"target|class"):
        OUTSIDE[name](Tensor([target]))


def test_accuracies_that_mean_nothing() -> None:
    """meta-pytorch/captum#1122: one output of a yes-or-no model; and k that is no number of places."""
    with pytest.raises(nd.ShapeError, match="compare logits > 0"):
        metrics.accuracy(Tensor([[0.3], [-0.8]]), Tensor([1, 0]))
    metric = metrics.Accuracy(ignore_index=-100)
    metric.update(Tensor([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]), Tensor([1, -100, 0]))
    assert metric.compute().item() == 0.5
    with pytest.raises(ValueError, match="k must be 1 or more"):
        metrics.Accuracy(top_k=0)
    with pytest.raises(TypeError):
        metrics.Accuracy(top_k=1.5)  # type: ignore[arg-type]
    with pytest.raises(nd.DTypeError, match="one has a fraction"):
        metrics.confusion_matrix(Tensor([0, 1]), Tensor([0.5, 1.0]))


# --- data -------------------------------------------------------------------------------------------------------------
def test_batches_of_numpy_strings_and_of_mixed_samples() -> None:
    """pytorch/pytorch#2914: a np.str_ is a string; a tensor and a number are of one batch."""
    assert default_collate([np.str_("a"), "b"]) == ["a", "b"]
    mixed: list[list[Any]] = [
        [Tensor(1.5), 2.0],
        [2.0, Tensor(1.5)],
        [nd.asarray(1.5), np.float32(2.0)],
        [np.int8(2), 1],
    ]
    for samples in mixed:
        assert sorted(default_collate(samples).tolist()) == sorted(float(each) for each in samples)


def test_draws_from_nothing() -> None:
    """pytorch/pytorch#36176: a length of 3 and no sample."""
    with pytest.raises(ValueError, match="3 samples cannot be drawn"):
        list(RandomSampler([], replacement=True, num_samples=3))
    assert list(DataLoader([], 2, shuffle=True)) == []


def test_an_infinite_pixel_reaches_its_neighbours_only() -> None:
    """pytorch/pytorch#187297 at images: depth maps have such."""
    row = [1.0, 1.0, 1.0, math.inf, 1.0, 1.0, math.nan, 1.0, -math.inf, 1.0, 1.0, 1.0]
    found = Resize((1, 6))(nd.asarray([[row]], dtype="float32")).tolist()[0][0]
    np.testing.assert_allclose(found, [1.0, math.inf, math.nan, math.nan, -math.inf, 1.0])  # windows of 4
    found = Resize((2, 12), antialias=False)(nd.asarray([[row]], dtype="float32")).tolist()[0]
    np.testing.assert_allclose(found, [row, row])


def test_images_of_no_pixels_and_of_masks() -> None:
    """Resized masks stay masks."""
    with pytest.raises(nd.ShapeError, match="has no pixels"):
        Resize(2)(nd.zeros((1, 0, 3)))
    mask = nd.asarray([[[True, False]]])
    assert Resize((1, 4))(mask).tolist() == [[[True, True, False, False]]]
    with pytest.raises(TypeError, match="the class Resize: call it"):
        Compose([Resize])
    with pytest.raises(TypeError, match="one is a int"):
        RandomApply([1])  # type: ignore[list-item]


def test_the_gradient_reaches_what_was_chosen() -> None:
    """The values of a pooling with places are still those elements: a sum's gradient counts each window once."""
    x = Tensor([[[3.0, 1.0, 2.0]]], requires_grad=True)
    values, _ = functional.max_pool1d(x, 2, 1, 1, return_indices=True)
    values.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [[[2.0, 0.0, 2.0]]]


# --- files and consoles -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "state",
    [
        {"a.b": Tensor([1.0]), "a": {"b": Tensor([2.0])}},
        {1: Tensor([1.0]), "1": Tensor([2.0])},
        {"a": [Tensor([1.0])], "a.0": Tensor([2.0]), "a.0'": Tensor([3.0])},
    ],
)
def test_names_in_states_that_look_alike(tmp_path: Path, state: Any) -> None:
    """google/flax#5554, pytorch/tensordict#51: an array under another one's dotted name came back twice."""
    nn.save_state(state, tmp_path / "state")
    assert str(nn.load_state(tmp_path / "state")) == str(state)


def test_states_that_hold_themselves_and_notes_of_other_kinds(tmp_path: Path) -> None:
    """safetensors/safetensors#278: a number among the notes makes a file that nobody reads."""
    state: dict[str, Any] = {"lr": 0.1}
    state["again"] = state
    with pytest.raises(ValueError, match="contains itself"):
        nn.save_state(state, tmp_path / "state")
    with pytest.raises(TypeError, match=r"'epoch': 1; write str\(\)"):
        nn.save_file({"x": Tensor([1.0])}, tmp_path / "x", {"epoch": 1})  # type: ignore[dict-item]
    assert not list(tmp_path.iterdir())


def test_weights_from_before_batches_were_counted() -> None:
    """pytorch/pytorch#8481: num_batches_tracked may be absent, other names not."""
    layer = nn.Sequential(nn.BatchNorm1d(2))
    state = {name: value for name, value in layer.state_dict().items() if "num_batches" not in name}
    assert layer.load_state_dict(state) == ([], [])
    del state["0.running_var"]
    with pytest.raises(nn.StateDictError, match=r"missing:\n  0.running_var \(2,\)$"):
        layer.load_state_dict(state)


def test_no_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """tqdm/tqdm#1593, #1654: in a process without a console sys.stderr is None."""
    monkeypatch.setattr("sys.stderr", None)
    assert list(progress([1, 2])) == [1, 2]


# --- files of data, workers -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("total", [100, 1000, 7])
@pytest.mark.parametrize("shares", [[0.14, 0.57, 0.29], [0.7, 0.1, 0.2], [0.29, 0.71], [0.1] * 10])
def test_shares_that_are_whole_numbers_of_samples(shares: list[float], total: int) -> None:
    """pytorch/pytorch#128116: 0.29 * 100 is less than 29, and the sample it lost went to another part."""
    counts = [len(part) for part in random_split(range(total), shares)]
    assert sum(counts) == total
    assert all(
        share * total - 1e-6 - 1 < count < share * total + 1e-6 + 1 for count, share in zip(counts, shares, strict=True)
    )
    if total >= 100:
        assert counts == [round(share * total) for share in shares]


def test_hidden_folders_are_no_classes(tmp_path: Path) -> None:
    """pytorch/vision#2831, tensorflow/tensorflow#46595: what notebooks and the Finder leave among images."""
    for name in ("cat/1.png", "dog/1.png", "dog/.ipynb_checkpoints/1.png", ".ipynb_checkpoints/1.png", "cat/._1.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    folder = ImageFolder(tmp_path)
    assert folder.classes == ["cat", "dog"]
    assert [Path(path).relative_to(tmp_path).as_posix() for path, _ in folder.samples] == ["cat/1.png", "dog/1.png"]


def test_lines_and_numbers_of_tables(tmp_path: Path) -> None:
    """Blank lines at the end are no rows; Python's 1_000 is no number elsewhere."""
    (tmp_path / "t.csv").write_text("a,b\n1,2\n\n3,4\n\n")
    assert read_csv(tmp_path / "t.csv", {"a": "int64"})["a"].tolist() == [1, 3]
    for kind in ("int64", "float32"):
        (tmp_path / "t.csv").write_text("a\n1_000\n")
        with pytest.raises(DataFileError, match="line 2, column 'a': '1_000' is no"):
            read_csv(tmp_path / "t.csv", {"a": kind})


def test_vocabularies_at_their_ends() -> None:
    """The empty token is one; no number counts from the end; a size of nothing is none."""
    words = Vocabulary.of(["", "b", ""])
    assert words.decode(words.encode(["b", ""])) == ["b", ""]
    for number in (-1, 2):
        with pytest.raises(IndexError, match=f"{number} is the number of no token in the vocabulary of 2"):
            words.decode([number])
    with pytest.raises(ValueError, match="largest_size must be 1 or more"):
        Vocabulary.of("abc", largest_size=0, unknown="?")


class Nested(Dataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return list(DataLoader([1, 2], num_workers=1, multiprocessing_context="fork"))


def test_loaders_with_workers_within_a_worker() -> None:
    """pytorch/pytorch#15950: an AssertionError of multiprocessing otherwise."""
    with pytest.raises(WorkerError, match="a loader within one has num_workers=0"):
        list(DataLoader(Nested(), num_workers=1, multiprocessing_context="fork"))


def test_packed_sequences_move() -> None:
    """pytorch/pytorch#22251"""
    packed = nn.utils.rnn.pack_sequence([Tensor([1.0]), Tensor([2.0, 3.0])], enforce_sorted=False)
    moved = packed.to("cpu", "float64")
    assert moved.data.dtype == nd.float64
    padded, lengths = nn.utils.rnn.pad_packed_sequence(moved, batch_first=True)
    assert padded.tolist() == [[1.0, 0.0], [2.0, 3.0]]
    assert list(lengths) == [1, 2]
