"""Readers of real formats: files as the formats' authors describe them, and every way to be damaged."""

import gzip
import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data import (
    CIFAR10,
    CIFAR100,
    MNIST,
    CSVDataset,
    DataFileError,
    DataLoader,
    FashionMNIST,
    ImageFolder,
    TokenFile,
    TokenWindows,
    Vocabulary,
    read_csv,
    read_idx,
    read_image,
    split_words,
    write_tokens,
)
from treadle.data.transforms import Compose, Normalize, ToArray

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype="u1")
LABELS = np.array([3, 1, 4, 1, 5, 9], "u1")


def idx(values: np.ndarray) -> bytes:
    kinds = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}
    head = bytes([0, 0, kinds[values.dtype.str[1:]], values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(values.dtype.newbyteorder(">")).tobytes()


# --- IDX, MNIST ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (0, 3), (1, 2, 3, 2)])
def test_idx_files_of_every_dtype(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    values = (np.arange(np.prod(shape)).reshape(shape) * -3 + 7).astype(dtype)
    (tmp_path / "x").write_bytes(idx(values))
    result = read_idx(tmp_path / "x").numpy()
    assert result.dtype == values.dtype
    np.testing.assert_array_equal(result, values)


def mnist(folder: Path, images: bytes = idx(PIXELS), labels: bytes = idx(LABELS), part: str = "train") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{part}-images-idx3-ubyte").write_bytes(images)
    (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
def test_mnist_and_its_kin(tmp_path: Path, kind: Any) -> None:
    mnist(tmp_path / kind.__name__ / "raw")
    data = kind(tmp_path)
    image, label = data[2]
    assert (image.dtype, image.shape, label) == (nd.uint8, (1, 28, 28), 4)
    np.testing.assert_array_equal(image.numpy()[0], PIXELS[2])
    assert len(data.classes) == 10
    images, labels = next(iter(DataLoader(data, 6)))
    np.testing.assert_array_equal(images.numpy()[:, 0], PIXELS)
    assert labels.numpy().tolist() == LABELS.tolist()
    changed = kind(tmp_path, transform=Compose([ToArray(), Normalize([0.5], [0.5])]), target_transform=str)
    images, texts = next(iter(DataLoader(changed, 6)))
    np.testing.assert_allclose(images.numpy()[:, 0], PIXELS / 127.5 - 1, atol=1e-6)
    assert texts == ["3", "1", "4", "1", "5", "9"]
    with pytest.raises(FileNotFoundError, match="download=True"):
        kind(tmp_path, train=False)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (idx(PIXELS)[:-1], idx(LABELS), "declares shape"),
        (idx(PIXELS), idx(LABELS[:5]), "6 images, but 5 labels"),
        (idx(PIXELS), idx(LABELS + 1), "label 10 is not below 10"),
        (idx(PIXELS[0]), idx(LABELS), "images of shape"),
    ],
)
def test_damaged_mnist(tmp_path: Path, images: bytes, labels: bytes, message: str) -> None:
    mnist(tmp_path / "MNIST" / "raw", images, labels)
    with pytest.raises(DataFileError, match=message):
        MNIST(tmp_path)


def test_downloads_are_asked_for_with_their_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetched(url: str, path: Path, *, checksum: str) -> Path:
        asked.append((url, checksum))
        mnist(tmp_path / "MNIST" / "raw", part="t10k")
        (tmp_path / "MNIST" / "raw" / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(PIXELS)))
        return path

    monkeypatch.setattr("treadle.data.images.download", fetched)
    assert len(MNIST(tmp_path, train=False, download=True)) == 6
    assert asked == [(MNIST.mirror + "t10k-images-idx3-ubyte.gz", "md5:9fb629c4189551a2d022fa330f9573f3")]


# --- CIFAR -----------------------------------------------------------------------------------------------------------
def records(labels: list[list[int]]) -> tuple[bytes, np.ndarray]:
    pixels = np.random.default_rng(len(labels)).integers(0, 256, (len(labels), 3, 32, 32), dtype="u1")
    return b"".join(bytes(each) + image.tobytes() for each, image in zip(labels, pixels, strict=True)), pixels


@pytest.mark.parametrize("packed", [False, True])
def test_cifar_10(tmp_path: Path, packed: bool) -> None:
    parts = [records([[number], [9 - number]]) for number in range(5)]
    files = {f"cifar-10-batches-bin/data_batch_{number + 1}.bin": part[0] for number, part in enumerate(parts)}
    files["cifar-10-batches-bin/test_batch.bin"] = records([[7]])[0]
    if packed:
        with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    else:
        (tmp_path / "cifar-10-batches-bin").mkdir()
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
    data = CIFAR10(tmp_path)
    assert data.targets.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    np.testing.assert_array_equal(data.data.numpy(), np.concatenate([part[1] for part in parts]))
    assert [label for _, label in CIFAR10(tmp_path, train=False)] == [7]


def test_cifar_100_takes_the_fine_label(tmp_path: Path) -> None:
    (tmp_path / "cifar-100-binary").mkdir()
    (tmp_path / "cifar-100-binary" / "train.bin").write_bytes(records([[3, 99], [0, 50]])[0])
    assert CIFAR100(tmp_path).targets.tolist() == [99, 50]


def test_damaged_cifar(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="download=True"):
        CIFAR10(tmp_path)
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for content, message in (
        (records([[1, 2]])[0][:-1], "no records of 3074"),
        (b"", "0 bytes"),
        (records([[1, 100]])[0], "label 100 is not below 100"),
    ):
        (folder / "train.bin").write_bytes(content)
        with pytest.raises(DataFileError, match=message):
            CIFAR100(tmp_path)
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(gzip.compress(b"no archive" * 200))
    with pytest.raises(DataFileError, match="is damaged"):
        CIFAR10(tmp_path)


# --- CSV -------------------------------------------------------------------------------------------------------------
TABLE = 'size,kind,count,good,"the name"\r\n1.5,b,3,yes,"x, y"\r\n-2e3,a,-4,0,"say ""hi"""\r\n'
TYPES = {"size": "float64", "kind": "category", "count": "int64", "good": "bool", "the name": "str"}


def test_csv_columns_have_their_types(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbf" + TABLE.encode())
    table = read_csv(tmp_path / "x.csv", TYPES)
    assert table["size"].dtype == nd.float64
    assert table["size"].tolist() == [1.5, -2000.0]
    assert table["kind"].tolist() == [1, 0]
    assert table["count"].tolist() == [3, -4]
    assert table["good"].tolist() == [True, False]
    assert table["the name"] == ["x, y", 'say "hi"']
    ordered = read_csv(tmp_path / "x.csv", {"kind": "category"}, categories={"kind": ["b", "c", "a"]})
    assert ordered["kind"].tolist() == [0, 2]


def test_csv_without_header_and_with_missing_values(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("1\tNA\n\t3\n")
    table = read_csv(
        tmp_path / "x.tsv", {"b": "float32", "a": "float32"}, header=["a", "b"], delimiter="\t", missing=["NA", ""]
    )
    np.testing.assert_array_equal(table["a"].numpy(), [1, np.nan])
    np.testing.assert_array_equal(table["b"].numpy(), [np.nan, 3])


@pytest.mark.parametrize(
    ("content", "types", "message"),
    [
        (b"a,b\n1,2\n3\n", {"a": "int64"}, "line 3: 1 fields, not 2"),
        (b"a\n1\nx\n", {"a": "int64"}, "line 3, column 'a': 'x' is no int64"),
        (b"a\n1.5\n", {"a": "int64"}, "'1.5' is no int64"),
        (b"a\n9223372036854775808\n", {"a": "int64"}, "is no int64"),
        (b"a\n\n", {"a": "float32"}, "0 fields"),
        (b"a\nmaybe\n", {"a": "bool"}, "'maybe' is no bool"),
        (b"a,a\n1,2\n", {"a": "int64"}, "'a' twice"),
        (b"a\n1\n", {"b": "int64"}, "no column 'b', only a"),
        (b"", {"a": "int64"}, "is empty"),
        (b'a\n"1\n', {"a": "int64"}, "is no CSV"),
        (b"a\n\xff\n", {"a": "str"}, "is no CSV in UTF-8"),
    ],
)
def test_damaged_csv(tmp_path: Path, content: bytes, types: dict[str, str], message: str) -> None:
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataFileError, match=message):
        read_csv(tmp_path / "x.csv", types)


def test_csv_rows_as_samples(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("w,h,y\n1,2,0.5\n3,4,1.5\n")
    data = CSVDataset(tmp_path / "x.csv", ["h", "w"], "y")
    inputs, targets = next(iter(DataLoader(data, 2)))
    assert inputs.numpy().tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert targets.numpy().tolist() == [0.5, 1.5]
    with pytest.raises(ValueError, match="inputs are the names"):
        CSVDataset(tmp_path / "x.csv", "w", "y")


# --- image folders ---------------------------------------------------------------------------------------------------
def test_image_folders(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 7, 3), dtype="u1")
    for number, name in enumerate(("dog/b.png", "cat/deep/a.png", "dog/a.PNG")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(pixels[number]).save(tmp_path / name)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    data = ImageFolder(tmp_path)
    assert (data.classes, data.targets) == (["cat", "dog"], [0, 1, 1])
    for sample, number in zip(data, (1, 2, 0), strict=True):
        np.testing.assert_array_equal(sample[0].numpy(), pixels[number].transpose(2, 0, 1))
    assert read_image(tmp_path / "dog" / "b.png", "L").shape == (1, 5, 7)
    (tmp_path / "dog" / "b.png").write_bytes((tmp_path / "dog" / "b.png").read_bytes()[:60])
    with pytest.raises(DataFileError, match=r"b.png cannot be read as an image"):
        data[2]
    with pytest.raises(FileNotFoundError):
        read_image(tmp_path / "absent.png")
    (tmp_path / "emu").mkdir()
    with pytest.raises(DataFileError, match="emu has no image"):
        ImageFolder(tmp_path)
    with pytest.raises(DataFileError, match="has no folders"):
        ImageFolder(tmp_path / "emu")


# --- text and tokens -------------------------------------------------------------------------------------------------
def test_vocabularies() -> None:
    text = "the cat and the dog and the emu"
    words = Vocabulary.of(split_words(text), largest_size=3, unknown="<unk>")
    assert words.tokens == ["<unk>", "and", "the"]
    assert words.encode(["the", "cat", "and"]).tolist() == [2, 0, 1]
    assert len(words) == 3
    assert "cat" not in words
    letters = Vocabulary.of(text)
    assert "".join(letters.decode(Tensor(letters.encode(text)))) == text
    assert letters.encode("").shape == (0,)
    with pytest.raises(KeyError, match="'z' is not in the vocabulary"):
        letters.encode("z")
    with pytest.raises(ValueError, match="twice"):
        Vocabulary("aa")
    with pytest.raises(ValueError, match="not among"):
        Vocabulary("ab", unknown="?")


@pytest.mark.parametrize(("size", "length", "stride"), [(10, 3, None), (10, 3, 1), (11, 5, 2), (4, 3, 7)])
def test_windows_are_those_of_numpy(size: int, length: int, stride: int | None, device: Any) -> None:
    windows = TokenWindows(nd.arange(size), length, stride)
    expected = np.lib.stride_tricks.sliding_window_view(np.arange(size), length + 1)[:: stride or length]
    assert len(windows) == len(expected)
    batches = list(DataLoader(windows, 2))
    np.testing.assert_array_equal(np.concatenate([inputs.numpy() for inputs, _ in batches]), expected[:, :-1])
    np.testing.assert_array_equal(np.concatenate([targets.numpy() for _, targets in batches]), expected[:, 1:])
    np.testing.assert_array_equal(windows[-1][1].numpy(), expected[-1, 1:])
    with pytest.raises(IndexError):
        windows[len(windows)]


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_token_files_are_mapped(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "text.bin"
    tokens = [0, 5, 65535, 7]
    assert write_tokens(path, iter(tokens), dtype) == 4
    np.testing.assert_array_equal(np.fromfile(path, f"<u{4 if dtype == 'uint32' else 2}"), tokens)
    file = TokenFile(path, dtype)
    assert file[1:].tolist() == tokens[1:]
    assert file[0].item() == 0
    with pytest.raises(nd.TreadleError):
        file.array[0] = 1
    assert len(pickle.loads(pickle.dumps(file))) == 4
    large = tmp_path / "large.bin"
    write_tokens(large, range(50000))
    loader = DataLoader(TokenWindows(TokenFile(large), 100), 10, num_workers=2, multiprocessing_context="forkserver")
    assert [inputs.numpy()[0, 0] for inputs, _ in loader] == list(range(0, 49900, 1000))


def test_damaged_token_files(tmp_path: Path) -> None:
    path = tmp_path / "text.bin"
    for content in (b"", b"\0\0\0"):
        path.write_bytes(content)
        with pytest.raises(DataFileError, match="no tokens of 2 bytes"):
            TokenFile(path)
    write_tokens(path, [3, 9])
    with pytest.raises(DataFileError, match="token 9 is not below 9"):
        TokenFile(path, vocabulary_size=9)[:]
    with pytest.raises(OverflowError):
        write_tokens(path, [70000])
    assert TokenFile(path)[:].tolist() == [3, 9], "a write that failed leaves the old file"
    with pytest.raises(ValueError, match="too few"):
        TokenWindows(TokenFile(path), 2)
    with pytest.raises(ValueError, match="uint16 or uint32"):
        TokenFile(path, "int8")
