"""Data sets, samplers, splits, collating and the loader."""

from collections import Counter, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    StratifiedSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
    stratified_split,
)


class Numbers(Dataset):
    """0, 1, 2, ... without a way to fetch whole batches."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return self.size


def tensors(size: int) -> TensorDataset:
    return TensorDataset(Tensor(nd.arange(size, dtype=nd.float32)), Tensor(nd.arange(size, dtype=nd.int64)))


def contents(loader: Any) -> list[list[int]]:
    return [(batch[0] if isinstance(batch, tuple) else batch).numpy().tolist() for batch in loader]


def test_tensor_dataset(device: Any) -> None:
    data = TensorDataset(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([5, 6]))
    assert len(data) == 2
    assert [part.numpy().tolist() for part in data[1]] == [[3.0, 4.0], 6]
    assert [part.numpy().tolist() for part in data[-1]] == [[3.0, 4.0], 6]
    assert sum(1 for _ in data) == 2
    with pytest.raises(IndexError):
        data[2]
    with pytest.raises(nd.ShapeError, match=r"\(1,\), \(2,\)"):
        TensorDataset(Tensor([1.0]), Tensor([1.0, 2.0]))
    with pytest.raises(nd.ShapeError, match="none"):
        TensorDataset()
    with pytest.raises(TypeError, match=r"wrap it with Tensor"):
        TensorDataset([1.0])  # type: ignore[arg-type]


def test_subsets_of_subsets() -> None:
    part = Subset(Subset(tensors(10), [9, 7, 5, 3]), [2, 0])
    assert [sample[1].item() for sample in part] == [5, 9]
    assert contents(DataLoader(part, 2)) == [[5.0, 9.0]]
    assert contents(DataLoader(Subset(Numbers(10), [4, 2]), 2)) == [[4, 2]]


@given(size=st.integers(0, 25), batch=st.integers(1, 30), drop=st.booleans(), shuffle=st.booleans(), fast=st.booleans())
def test_the_length_is_the_number_of_batches(size: int, batch: int, drop: bool, shuffle: bool, fast: bool) -> None:
    loader = DataLoader(tensors(size) if fast else Numbers(size), batch, shuffle, drop_last=drop)
    batches = contents(loader)
    assert len(loader) == len(batches) == (size // batch if drop else -(-size // batch))
    seen = [number for each in batches for number in each]
    assert all(len(each) == batch for each in batches[:-1])
    if not drop:
        assert sorted(seen) == list(range(size))
    if not shuffle:
        assert seen == list(range(len(seen)))


def test_batches_of_both_paths_are_equal() -> None:
    """What a data set fetches at once is what collating its samples gives."""
    data = TensorDataset(Tensor(np.arange(30.0).reshape(10, 3)), Tensor(np.arange(10)))

    def loaders() -> list[DataLoader]:
        generators = [nd.random.Generator(5), nd.random.Generator(5)]
        return [
            DataLoader(data, 4, shuffle=True, generator=generators[0]),
            DataLoader(data, 4, shuffle=True, generator=generators[1], collate_fn=default_collate),
        ]

    fast, slow = loaders()
    for _ in range(2):
        for one, other in zip(fast, slow, strict=True):
            assert type(one) is type(other) is tuple
            for left, right in zip(one, other, strict=True):
                assert left.dtype == right.dtype
                np.testing.assert_array_equal(left.numpy(), right.numpy())


def test_batches_are_copies(device: Any) -> None:
    data = tensors(4)
    for shuffle in (False, True):
        for batch, _ in DataLoader(data, 2, shuffle):
            assert batch.device == device
            batch.data[...] = -1.0
    assert data.tensors[0].numpy().tolist() == [0.0, 1.0, 2.0, 3.0]


def test_every_pass_is_shuffled_anew_and_repeats_with_the_seed() -> None:
    def passes() -> list[list[list[int]]]:
        nd.random.manual_seed(11)
        loader = DataLoader(tensors(50), 50, shuffle=True)
        return [contents(loader), contents(loader)]

    first = passes()
    assert first[0] != first[1]
    assert first == passes()


def test_samplers() -> None:
    assert list(SequentialSampler(range(3))) == [0, 1, 2]
    draws = list(RandomSampler(range(10), replacement=True, num_samples=500))
    assert len(draws) == 500
    assert set(draws) == set(range(10))
    counts = Counter(RandomSampler(range(4), num_samples=10))
    assert sum(counts.values()) == 10
    assert set(counts.values()) <= {2, 3}
    assert len(RandomSampler(range(4), num_samples=10)) == 10
    assert sorted(SubsetRandomSampler([7, 3, 9])) == [3, 7, 9]
    assert list(RandomSampler([])) == []
    assert list(BatchSampler(SequentialSampler(range(5)), 2, drop_last=True)) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="num_samples"):
        RandomSampler(range(3), num_samples=0)


@pytest.mark.parametrize("size", [0, -1, 2.0])
def test_bad_batch_sizes(size: Any) -> None:
    with pytest.raises(TypeError if size == 2.0 else ValueError, match=r"batch_size must be 1 or more|'float' object"):
        DataLoader(Numbers(3), size)


def test_samplers_of_the_users() -> None:
    loader = DataLoader(tensors(5), 2, sampler=[4, 0, 2])
    assert contents(loader) == [[4.0, 0.0], [2.0]]
    assert len(loader) == 2
    loader = DataLoader(tensors(5), batch_sampler=[[4], [0, 2]])
    assert contents(loader) == [[4.0], [0.0, 2.0]]
    assert len(loader) == 2
    assert list(DataLoader(Numbers(3), None)) == [0, 1, 2]
    assert len(DataLoader(Numbers(3), None)) == 3
    assert contents(DataLoader("abc", 2, collate_fn=lambda batch: Tensor([ord(letter) for letter in batch]))) == [
        [97, 98],
        [99],
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shuffle": True, "sampler": [0]}, "give one of them"),
        ({"batch_sampler": [[0]], "batch_size": 4}, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, "drop_last needs"),
    ],
)
def test_contradictions(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(Numbers(3), **options)


def test_an_error_of_the_data_set_comes_through_and_the_loader_goes_on() -> None:
    class Failing(Numbers):
        def __getitem__(self, index: int) -> int:
            if index == 3:
                raise KeyError("sample 3")
            return index

    loader = DataLoader(Failing(5), 2)
    for _ in range(2):
        with pytest.raises(KeyError, match="sample 3"):
            list(loader)


def test_collate(device: Any) -> None:
    Point = namedtuple("Point", "x y")
    assert default_collate([1, 2]).dtype == nd.int64
    assert default_collate([1.0, 2.0]).dtype == nd.float32
    assert default_collate([True, False]).dtype == nd.bool
    assert default_collate([Tensor([1.0]), Tensor([2.0])]).shape == (2, 1)
    assert default_collate([nd.asarray([1.0]), nd.asarray([2.0])]).shape == (2, 1)
    assert default_collate([np.float64(1.0), np.float64(2.0)]).dtype == nd.float64
    assert default_collate([np.zeros((2, 3), "i8")] * 4).shape == (4, 2, 3)
    assert default_collate(["a", "b"]) == ["a", "b"]
    nested = default_collate([{"a": (1, [2.0])}, {"a": (3, [4.0])}])
    assert nested["a"][0].numpy().tolist() == [1, 3]
    assert nested["a"][1][0].numpy().tolist() == [2.0, 4.0]
    point = default_collate([Point(1, 2), Point(3, 4)])
    assert type(point) is Point
    assert point.y.numpy().tolist() == [2, 4]


def test_collate_refuses() -> None:
    with pytest.raises(TypeError, match="no batch can be made of object"):
        default_collate([object()])
    with pytest.raises(ValueError, match=r"different lengths: \[1, 2\]"):
        default_collate([(1,), (1, 2)])
    with pytest.raises(ValueError, match="empty batch"):
        default_collate([])
    with pytest.raises(nd.ShapeError):
        default_collate([Tensor([1.0]), Tensor([1.0, 2.0])])


def test_random_split() -> None:
    parts = random_split(range(10), [7, 3])
    assert [len(part) for part in parts] == [7, 3]
    assert sorted([*parts[0], *parts[1]]) == list(range(10))
    assert [len(part) for part in random_split(range(10), [0.5, 0.25, 0.25])] == [6, 2, 2]
    first, second = ([list(p) for p in random_split(range(9), [4, 5], nd.random.Generator(1))] for _ in range(2))
    assert first == second
    assert [len(part) for part in random_split([], [0, 0])] == [0, 0]
    with pytest.raises(ValueError, match="sum to 9, but the data set has 10"):
        random_split(range(10), [4, 5])
    with pytest.raises(ValueError, match="negative"):
        random_split(range(10), [-1, 11])
    with pytest.raises(ValueError, match="whole numbers, or shares"):
        random_split(range(5), [2.5, 2.5])


@given(
    labels=st.lists(st.integers(0, 3), max_size=60),
    share=st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]),
    seed=st.integers(),
)
def test_stratified_split_holds_out_its_share_of_every_class(labels: list[int], share: float, seed: int) -> None:
    for options in ({"shuffle": False}, {"generator": nd.random.Generator(seed)}):
        kept, held = stratified_split(range(len(labels)), share, labels, **options)
        assert sorted([*kept, *held]) == list(range(len(labels)))
        assert list(kept) == sorted(kept)
        counts = Counter(labels)
        assert Counter(labels[index] for index in held) == {
            label: int(share * 10) * count // 10 for label, count in counts.items() if int(share * 10) * count // 10
        }


def test_stratified_split_takes_tensors_and_checks() -> None:
    kept, held = stratified_split("abcd", 0.5, Tensor([0, 0, 1, 1]), shuffle=False)
    assert (list(kept), list(held)) == (["a", "c"], ["b", "d"])
    with pytest.raises(ValueError, match="1 labels for 2 samples"):
        stratified_split("ab", 0.5, [1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        stratified_split("ab", 1.5, [1, 1])


def test_data_sets_without_methods_say_so() -> None:
    with pytest.raises(TypeError, match="Dataset defines no __getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError, match="Dataset defines no __len__"):
        len(Dataset())


# --- samplers that weigh and stratify --------------------------------------------------------------------------------
def test_weighted_draws_follow_their_weights() -> None:
    weights = [1.0, 0.0, 3.0, 6.0]
    counts = Counter(WeightedRandomSampler(weights, 10000, generator=nd.random.Generator(4)))
    assert set(counts) == {0, 2, 3}
    for index, weight in enumerate(weights):
        assert abs(counts[index] - 1000 * weight) < 300  # six standard deviations of the widest
    without = WeightedRandomSampler(nd.asarray(weights), 2, replacement=False, generator=nd.random.Generator(5))
    pairs = Counter(tuple(without) for _ in range(3000))
    for first in (0, 2, 3):
        for second in {0, 2, 3} - {first}:
            expected = weights[first] / 10 * weights[second] / (10 - weights[first])
            assert abs(pairs[first, second] / 3000 - expected) < 0.06
    assert sorted(WeightedRandomSampler(weights, 3, replacement=False)) == [0, 2, 3]


@pytest.mark.parametrize(
    ("weights", "count", "options", "message"),
    [
        ([], 1, {}, "weights must be"),
        ([0.0], 1, {}, "weights must be"),
        ([-1.0, 2.0], 1, {}, "weights must be"),
        ([float("nan")], 1, {}, "weights must be"),
        ([1.0], 0, {}, "num_samples must be 1 or more"),
        ([1.0, 0.0], 2, {"replacement": False}, "at most 1"),
    ],
)
def test_weights_that_make_no_sense(weights: list[float], count: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WeightedRandomSampler(weights, count, **options)


@given(counts=st.lists(st.integers(1, 40), min_size=1, max_size=4), batch=st.integers(1, 16), seed=st.integers(0, 99))
def test_stratified_batches_have_every_class_in_its_share(counts: list[int], batch: int, seed: int) -> None:
    labels = [number for number, count in enumerate(counts) for _ in range(count)]
    order = list(StratifiedSampler(Tensor(labels), nd.random.Generator(seed)))
    assert sorted(order) == list(range(len(labels)))
    for start in range(0, len(order) - batch + 1, batch):
        seen = Counter(labels[index] for index in order[start : start + batch])
        for number, count in enumerate(counts):
            assert abs(seen[number] - batch * count / len(labels)) <= len(counts)


def test_stratified_orders_are_new_each_time() -> None:
    sampler = StratifiedSampler([0, 1] * 20)
    assert list(sampler) != list(sampler)
    assert len(sampler) == 40


# --- data sets made of others ----------------------------------------------------------------------------------------
class Letters(IterableDataset):
    def __init__(self, letters: str) -> None:
        self.letters = letters

    def __iter__(self) -> Any:
        return iter(self.letters)

    def __len__(self) -> int:
        return len(self.letters)


def test_concatenated_and_chained() -> None:
    both = Numbers(3) + Numbers(2)
    assert isinstance(both, ConcatDataset)
    assert [both[index] for index in (0, 2, 3, 4, -1, -5)] == [0, 2, 0, 1, 1, 0]
    assert both.cumulative_sizes == [3, 5]
    for index in (5, -6):
        with pytest.raises(IndexError):
            both[index]
    assert list(ConcatDataset([[], [1], [], [2]])) == [1, 2]
    chained = Letters("ab") + Letters("c")
    assert isinstance(chained, ChainDataset)
    assert (list(chained), len(chained)) == (["a", "b", "c"], 3)
    assert list(DataLoader(chained, 2)) == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="at least one"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="has no indices"):
        ConcatDataset([Letters("a")])
    with pytest.raises(TypeError, match="not Numbers"):
        list(ChainDataset([Numbers(2)]))
    with pytest.raises(TypeError, match="defines no __iter__"):
        iter(IterableDataset())


@pytest.mark.parametrize("workers", [0, 2])
def test_data_sets_side_by_side(workers: int) -> None:
    rows = TensorDataset(Tensor(nd.arange(6).reshape(3, 2)))
    options: dict[str, Any] = {"num_workers": workers}
    if workers:
        options["multiprocessing_context"] = "fork"
    for fast in (True, False):
        second: Any = Subset(TensorDataset(Tensor([7, 8, 9])), [2, 1, 0]) if fast else [9, 8, 7]
        both, named = StackDataset(rows, second), StackDataset(x=rows, y=second)
        assert hasattr(both, "fetch_batch") == fast
        (x,), y = list(DataLoader(both, 2, **options))[1]
        assert (x.tolist(), (y[0] if fast else y).tolist()) == ([[4, 5]], [7])
        first, _ = DataLoader(named, 2, **options)
        assert first["x"][0].tolist() == [[0, 1], [2, 3]]
        assert len(named) == 3
    with pytest.raises(ValueError, match=r"one length; these have \[2, 3\]"):
        StackDataset("ab", "cde")
    for arguments, names in (((), {}), (("ab",), {"y": "ab"})):
        with pytest.raises(ValueError, match="all by position or all by name"):
            StackDataset(*arguments, **names)


def test_samples_that_are_fetched_together() -> None:
    """PyTorch's ``__getitems__``."""

    class Together(Numbers):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [index * 10 for index in indices]

    assert contents(DataLoader(Together(3), 2)) == [[0, 10], [20]]


def test_default_convert() -> None:
    Point = namedtuple("Point", "x y")
    converted = default_convert({"a": [np.float32([1.0]), "b"], "c": Point(nd.asarray([1]), 2), "d": np.str_("x")})
    assert isinstance(converted["a"][0], Tensor)
    assert converted["a"][1] == "b"
    assert type(converted["c"]) is Point
    assert isinstance(converted["c"].x, Tensor)
    assert converted["c"].y == 2
    assert converted["d"] == "x"
    (sample,) = DataLoader([np.float32([1.0, 2.0])], None)
    assert isinstance(sample, Tensor)
    with pytest.raises(ValueError, match=r"different keys: \['b'\]"):
        default_collate([{"a": 1}, {"a": 1, "b": 2}])


def test_what_is_no_index_or_generator() -> None:
    for data in (None, {1, 2}, iter([1, 2])):
        with pytest.raises(TypeError, match="is neither; of an iterator make an IterableDataset"):
            DataLoader(data)
    for sampler in ([0.5], ["0"]):
        with pytest.raises(TypeError, match="integer"):
            list(DataLoader(TensorDataset(Tensor([1.0, 2.0])), sampler=sampler))
    with pytest.raises(TypeError, match=r"generator must be a treadle\.ndarray\.random\.Generator, not int"):
        DataLoader([1], generator=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integer"):
        DataLoader([1], batch_size="2")  # type: ignore[arg-type]
    with pytest.raises(nd.DTypeError, match="datetime64"):
        default_collate([np.datetime64("2020-01-01")])
