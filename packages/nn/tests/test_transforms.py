"""Transforms against NumPy and PyTorch, their draws, and what they refuse."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data import DataLoader, Dataset
from treadle.data import transforms as T
from treadle.data.seeding import generators_in


def image(height: int = 5, width: int = 7, channels: int = 3, dtype: str = "float32") -> np.ndarray:
    values = np.random.default_rng(height * width).integers(0, 256, (channels, height, width))
    return values.astype(dtype)


def test_to_array_and_normalize(device: Any) -> None:
    pixels = image(dtype="uint8")
    scaled = T.ToArray()(nd.asarray(pixels))
    assert scaled.device == device
    np.testing.assert_allclose(scaled.numpy(), pixels / np.float32(255), rtol=1e-6)
    mean, std = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
    expected = (pixels / 255 - np.array(mean)[:, None, None]) / np.array(std)[:, None, None]
    np.testing.assert_allclose(T.Normalize(mean, std)(scaled).numpy(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(T.ToArray(channels_last=True)(pixels).numpy().shape, (7, 3, 5))
    assert T.ToArray(channels_last=True)(pixels[0]).shape == (1, 5, 7)
    assert T.ToArray()(Tensor([1, 2])).dtype == nd.float32
    with pytest.raises(nd.DTypeError, match="ToArray"):
        T.Normalize([0.5], [0.5])(pixels)
    with pytest.raises(nd.ShapeError, match="2 means"):
        T.Normalize([0.5, 0.5], [1.0, 1.0])(scaled)
    with pytest.raises(ValueError, match="none of them 0"):
        T.Normalize([0.5], [0.0])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize(
    ("padding", "sides"), [(1, (1, 1, 1, 1)), ((2, 1), (2, 1, 2, 1)), ((0, 1, 2, 3), (0, 1, 2, 3))]
)
def test_padding_is_that_of_numpy(mode: str, padding: Any, sides: tuple[int, ...], device: Any) -> None:
    left, top, right, bottom = sides
    given = image()
    options = {"constant_values": 7} if mode == "constant" else {}
    expected = np.pad(given, [(0, 0), (top, bottom), (left, right)], mode=mode, **options)  # type: ignore[call-overload]
    result = T.Pad(padding, fill=7, padding_mode=mode)(nd.asarray(given))
    np.testing.assert_array_equal(result.numpy(), expected)


def test_center_crops() -> None:
    given = image(6, 6)
    np.testing.assert_array_equal(T.CenterCrop((2, 4))(given).numpy(), given[:, 2:4, 1:5])
    padded = T.CenterCrop(9)(given).numpy()
    assert padded.shape == (3, 9, 9)
    np.testing.assert_array_equal(padded[:, 1:7, 1:7], given)
    assert padded.sum() == given.sum()


def test_random_crops_come_from_everywhere_alike() -> None:
    given = np.arange(30.0, dtype="f4").reshape(1, 5, 6)
    crop = T.RandomCrop((4, 4), generator=nd.random.Generator(1))
    counts = Counter(crop(given).numpy()[0, 0, 0] for _ in range(600))
    assert sorted(counts) == [0, 1, 2, 6, 7, 8]
    assert min(counts.values()) > 60  # expected 100, standard deviation 9
    for _ in range(10):
        piece = crop(given).numpy()[0]
        np.testing.assert_array_equal(piece - piece[0, 0], given[0, :4, :4])
    assert T.RandomCrop(5, padding=2)(given).shape == (1, 5, 5)
    assert T.RandomCrop(9, pad_if_needed=True)(given).shape == (1, 9, 9)
    with pytest.raises(nd.ShapeError, match="pad_if_needed"):
        T.RandomCrop(9)(given)


@pytest.mark.parametrize(("flip", "axis"), [(T.RandomHorizontalFlip, 2), (T.RandomVerticalFlip, 1)])
def test_flips(flip: Any, axis: int, device: Any) -> None:
    given = image()
    np.testing.assert_array_equal(flip(1.0)(nd.asarray(given)).numpy(), np.flip(given, axis))
    np.testing.assert_array_equal(flip(0.0)(nd.asarray(given)).numpy(), given)
    half = flip(generator=nd.random.Generator(3))
    flipped = sum(half(given).numpy()[0, 0, 0] != given[0, 0, 0] for _ in range(400))
    assert 140 < flipped < 260  # 6 standard deviations


@pytest.mark.parametrize("size", [(3, 4), (10, 14), (5, 3), (1, 1), (8, 7)])
@pytest.mark.parametrize("antialias", [False, True])
def test_resizing_is_that_of_pytorch(size: tuple[int, int], antialias: bool, torch: Any) -> None:
    given = image()
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(given)[None], size=size, mode="bilinear", antialias=antialias, align_corners=False
    )
    result = T.Resize(size, antialias=antialias)(given).numpy()
    np.testing.assert_allclose(result, expected[0].numpy(), rtol=1e-4, atol=1e-3)
    nearest = torch.nn.functional.interpolate(torch.from_numpy(given)[None], size=size, mode="nearest")
    np.testing.assert_array_equal(T.Resize(size, "nearest")(given).numpy(), nearest[0].numpy())


def test_resizing_by_the_shorter_side_and_of_bytes(device: Any) -> None:
    assert T.Resize(10)(nd.zeros((1, 5, 7))).shape == (1, 10, 14)
    assert T.Resize(10)(nd.zeros((1, 7, 5))).shape == (1, 14, 10)
    constant = T.Resize(3)(nd.full((2, 5, 5), 255, dtype="uint8"))
    assert constant.dtype == nd.uint8
    assert set(constant.numpy().ravel().tolist()) == {255}


@pytest.mark.parametrize("angle", [0.0, 30.0, -77.0, 90.0, 180.0])
def test_rotations_are_those_of_pytorch(angle: float, torch: Any) -> None:
    given = image(9, 9)
    turned = T.RandomRotation((angle, angle), "bilinear", fill=0)(given).numpy()
    radians = np.deg2rad(angle)
    matrix = torch.tensor([[[np.cos(radians), -np.sin(radians), 0], [np.sin(radians), np.cos(radians), 0]]])
    grid = torch.nn.functional.affine_grid(matrix.float(), (1, 3, 9, 9), align_corners=False)
    expected = torch.nn.functional.grid_sample(torch.from_numpy(given)[None], grid, align_corners=False)
    np.testing.assert_allclose(turned, expected[0].numpy(), atol=0.05)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_quarter_turns_are_exact(turns: int, device: Any) -> None:
    given = image(6, 6, dtype="uint8")
    turned = T.RandomRotation((90 * turns, 90 * turns))(nd.asarray(given)).numpy()
    np.testing.assert_array_equal(turned, np.rot90(given, turns, axes=(1, 2)))


def test_rotations_draw_their_angle_and_fill() -> None:
    turn = T.RandomRotation(45, fill=9, generator=nd.random.Generator(2))
    results = {turn(image(20, 20)).numpy().tobytes() for _ in range(5)}
    assert len(results) == 5
    assert T.RandomRotation((45, 45), fill=9)(np.zeros((1, 8, 8), "f4")).numpy()[0, 0, 0] == 9


@given(p=st.sampled_from([0.0, 1.0]), seed=st.integers(0, 1000))
def test_erasing_takes_one_rectangle_of_the_right_size(p: float, seed: int) -> None:
    erase = T.RandomErasing(p, scale=(0.1, 0.3), ratio=(0.5, 2.0), generator=nd.random.Generator(seed))
    given = nd.ones((2, 20, 20))
    result = erase(given).numpy()
    assert given.numpy().min() == 1.0, "the image itself stays"
    gone = np.argwhere(result[0] == 0.0)
    if p == 0.0:
        assert len(gone) == 0
        return
    (top, left), (bottom, right) = gone.min(0), gone.max(0) + 1
    assert len(gone) == (bottom - top) * (right - left), "a rectangle"
    assert 0.06 < len(gone) / 400 < 0.36  # rounded sides
    np.testing.assert_array_equal(result[0], result[1])


def test_erasing_fills() -> None:
    options: dict[str, Any] = {"p": 1.0, "generator": nd.random.Generator(0)}
    result = T.RandomErasing(value=(2.0, 3.0), **options)(nd.ones((2, 9, 9))).numpy()
    assert [set(channel.ravel()) for channel in result] == [{1.0, 2.0}, {1.0, 3.0}]
    assert len(set(T.RandomErasing(value="random", **options)(nd.ones((1, 30, 30))).numpy().ravel())) > 15
    inplace = nd.ones((1, 9, 9))
    T.RandomErasing(inplace=True, **options)(inplace)
    assert inplace.numpy().min() == 0.0


def test_one_hot_and_lambda_and_compose(device: Any) -> None:
    chain = T.Compose([T.Lambda(lambda label: label + 1), T.OneHot(4)])
    assert chain(2).tolist() == [0.0, 0.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="from 0 to 3"):
        chain(3)
    assert T.RandomApply([T.Lambda(lambda x: -x)], p=0.0)(3) == 3
    assert "Normalize(mean=[0.5], std=[1.0])" in repr(T.Compose([T.Normalize([0.5], [1.0])]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: T.CenterCrop(0),
        lambda: T.Resize((1, 2, 3)),
        lambda: T.Resize(3, "cubic"),
        lambda: T.Pad((1, 2, 3)),
        lambda: T.Pad(1, padding_mode="wrong"),
        lambda: T.RandomHorizontalFlip(1.5),
        lambda: T.RandomRotation((3, 1)),
        lambda: T.RandomErasing(scale=(0.5, 0.1)),
        lambda: T.RandomErasing(value="nothing"),
        lambda: T.OneHot(0),
    ],
)
def test_arguments_that_make_no_sense(make: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|takes one|padding is|is one of|scale is|value is|padding_mode"):
        make()


@pytest.mark.parametrize("transform", [T.CenterCrop(1), T.Resize(1), T.Pad(1), T.RandomHorizontalFlip()])
def test_what_is_no_image(transform: Any) -> None:
    with pytest.raises(nd.ShapeError, match=r"takes images \(channels, height, width\), not \(3, 3\)"):
        transform(nd.zeros((3, 3)))


class Cropped(Dataset):
    """Crops drawn from a generator of the transform's own."""

    def __init__(self) -> None:
        self.transform = T.Compose([T.RandomCrop(2, generator=nd.random.Generator(9))])

    def __getitem__(self, index: int) -> Any:
        return self.transform(np.arange(10000.0, dtype="f4").reshape(1, 100, 100))

    def __len__(self) -> int:
        return 40


def test_generators_of_transforms_are_found_and_differ_between_workers_and_passes() -> None:
    data = Cropped()
    assert generators_in(data) == [data.transform.transforms[0].generator]

    def passes(workers: int) -> list[bytes]:
        nd.random.manual_seed(1)
        loader = DataLoader(Cropped(), 4, num_workers=workers, multiprocessing_context="fork")
        return [crop.tobytes() for _ in range(2) for batch in loader for crop in batch.numpy()]

    first = passes(2)
    assert len(set(first)) > 70  # of 80, out of 9801 places
    assert first == passes(2) == passes(3)
