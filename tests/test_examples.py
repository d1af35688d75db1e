"""Every example runs, shortened, to its end: what it says begins to hold, and it leaves the files that it names."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

EXAMPLES = Path(__file__).parent.parent / "examples"
HELPERS = {"common", "digits", "text"}
Result = dict[str, float]

BEGINNINGS: dict[str, Callable[[Result], bool]] = {
    "train_digits": lambda result: result["accuracy"] > 0.8,
    "digits_cnn": lambda result: result["accuracy"] > 0.9,
    "resnet_textures": lambda result: result["accuracy"] > 0.4 and result["accuracy"] > 1.3 * result["linear"],
    "char_lstm": lambda result: result["loss"] < 4.2,  # bits; the letters' frequencies alone give 4.8
    "char_gpt": lambda result: result["loss"] < 4.6,
    "denoise_digits": lambda result: result["loss"] < result["blurred"] < result["noisy"],
    "gan_ring": lambda result: result["spots"] >= 3.0,
    "diabetes": lambda result: 0.4 < result["linear"] < 0.6 and result["r2"] > result["linear"] - 0.05,
}
"""What each must reach with ``--fast``; the full results stand in ``examples/README.md``."""

NEEDED = {"resnet_textures": "skimage", "diabetes": "sklearn"}


def names() -> list[str]:
    """The examples in the folder."""
    return sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in HELPERS)


def test_every_example_is_tested_and_described() -> None:
    assert names() == sorted(BEGINNINGS)
    described = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert [name for name in names() if f"python examples/{name}.py" not in described] == []


@pytest.mark.parametrize("name", names())
def test_shortened_it_begins_to_hold(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    result = importlib.import_module(name).main(["--fast", "--quiet", "--out", str(tmp_path)])
    assert BEGINNINGS[name](result), result
    printed = capsys.readouterr()
    written = [Path(line.strip()) for line in printed.out.partition("written:\n")[2].splitlines()]
    assert printed.err == ""
    assert any(path.suffix == ".png" and path.read_bytes().startswith(b"\x89PNG") for path in written)
    assert all(path.parent == tmp_path and path.stat().st_size > 0 for path in written)
    assert len(written) == len(list(tmp_path.iterdir()))


def test_an_example_repeats_with_its_seed(tmp_path: Path) -> None:
    run = importlib.import_module("denoise_digits").main
    results = [
        run(["--epochs", "1", "--batch-size", "512", "--seed", seed, "--quiet", "--out", str(tmp_path)])
        for seed in "334"
    ]
    assert results[0] == results[1] != results[2]
