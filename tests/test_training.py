"""The digits are learnt: on every device that needs no hardware, for every seed, with the files that are promised."""

import csv
import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from treadle import nn

HELD_OUT = 355


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The script ``examples/train_digits.py``."""
    path = Path(__file__).parent.parent / "examples" / "train_digits.py"
    specification = importlib.util.spec_from_file_location("train_digits", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["train_digits"] = module
    specification.loader.exec_module(module)
    return module


def right(example: ModuleType, backend: str, seed: int, epochs: int = 30) -> int:
    """How many of the held-out images a trained model gets right."""
    accuracy: float = example.train(backend, epochs=epochs, seed=seed, show_progress=False).result["accuracy"]
    return round(accuracy * HELD_OUT)


@pytest.mark.parametrize("seed", range(5))
def test_every_seed_reaches_97_percent(example: ModuleType, seed: int) -> None:
    assert right(example, "cpu", seed) >= 0.97 * HELD_OUT


@pytest.mark.parametrize("seed", range(2))
def test_numpy_ends_within_one_image_of_cpu(example: ModuleType, seed: int) -> None:
    assert abs(right(example, "cpu", seed) - right(example, "numpy", seed)) <= 1


def test_cuda_emulated_ends_within_one_image_of_cpu(example: ModuleType) -> None:
    if importlib.util.find_spec("treadle.cuda") is None:
        pytest.skip("treadle.cuda is not installed")
    assert abs(right(example, "cpu", 0, epochs=3) - right(example, "cuda_emulated", 0, epochs=3)) <= 1


def test_the_command_leaves_what_it_says(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("sys.argv", ["train_digits.py", "--epochs", "2", "--seed", "3", "--out", str(tmp_path / "run")])
    example.main()
    printed = capsys.readouterr().out
    assert "held-out accuracy" in printed
    assert "75.0 KiB of constants" in printed and (tmp_path / "run" / "model.h").exists()
    for name in ("weights.safetensors", "training.png", "graph.svg", "history.csv", "model.c"):
        assert str(tmp_path / "run" / name) in printed
    weights = nn.load_file(tmp_path / "run" / "weights.safetensors")
    example.build_model().load_state_dict(weights)
    assert (tmp_path / "run" / "training.png").read_bytes().startswith(b"\x89PNG")
    picture = ElementTree.parse(tmp_path / "run" / "graph.svg").getroot()
    text = " ".join(picture.itertext())
    assert all(name in text for name in weights)
    with open(tmp_path / "run" / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["1", "2"]
    assert np.isfinite([float(row["validation_accuracy"]) for row in rows]).all()
