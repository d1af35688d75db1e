"""The digits are learnt: on every device that needs no hardware, for every seed, with the files that are promised."""

import csv
import importlib.util
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import train_digits
import treadle.ndarray as nd
from digits import train
from treadle import nn

HELD_OUT = 355


def right(backend: str, seed: int, epochs: int = 30) -> int:
    """How many of the held-out images a trained model gets right."""
    with nd.use_device(backend):
        nd.random.manual_seed(seed)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 10))
        result = train(model, epochs, lr=3e-3, moved=False, show_progress=False).result
    return round(result["accuracy"] * HELD_OUT)


@pytest.mark.parametrize("seed", range(5))
def test_every_seed_reaches_97_percent(seed: int) -> None:
    assert right("cpu", seed) >= 0.97 * HELD_OUT


@pytest.mark.parametrize("seed", range(2))
def test_numpy_ends_within_one_image_of_cpu(seed: int) -> None:
    assert abs(right("cpu", seed, epochs=10) - right("numpy", seed, epochs=10)) <= 1


def test_cuda_emulated_ends_within_one_image_of_cpu() -> None:
    if importlib.util.find_spec("treadle.cuda") is None:
        pytest.skip("treadle.cuda is not installed")
    assert abs(right("cpu", 0, epochs=3) - right("cuda_emulated", 0, epochs=3)) <= 1


def test_the_command_leaves_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    train_digits.main(["--epochs", "2", "--seed", "3", "--out", str(tmp_path / "run")])
    printed = capsys.readouterr().out
    assert "held-out accuracy" in printed
    assert "653.0 KiB of constants" in printed and (tmp_path / "run" / "model.h").exists()
    for name in ("weights.safetensors", "training.png", "graph.svg", "history.csv", "model.c"):
        assert str(tmp_path / "run" / name) in printed
    weights = nn.load_file(tmp_path / "run" / "weights.safetensors")
    train_digits.build_model().load_state_dict(weights)
    assert (tmp_path / "run" / "training.png").read_bytes().startswith(b"\x89PNG")
    picture = ElementTree.parse(tmp_path / "run" / "graph.svg").getroot()
    text = " ".join(picture.itertext())
    assert all(name in text for name in weights)
    with open(tmp_path / "run" / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert np.isfinite([float(row["validation_accuracy"]) for row in rows]).all()
