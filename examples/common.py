"""What the examples share: their options, the device and seed of a run, its clock, and the pictures it leaves."""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.ndarray.atomic import atomic_write
from treadle.nn.plotting import require_matplotlib

BACKENDS = ("cpu", "numpy", "cuda", "cuda_emulated")
BLUE, GREY = "#2563eb", "#9ca3af"


def parse(
    argv: Sequence[str] | None, description: str, *, name: str, unit: str, length: int, fast: int, batch_size: int
) -> argparse.Namespace:
    """The options of an example; ``options.length`` is how many epochs or steps (``unit``) to train.

    ``--fast`` trains for ``fast`` of them: enough to see that it works. The first line of ``description`` stands in
    ``--help``.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument(
        "--backend", choices=BACKENDS, help="the device that computes; by default TREADLE_BACKEND, or cpu"
    )
    parser.add_argument(f"--{unit}", dest="length", type=int, help=f"how long to train; by default {length} {unit}")
    parser.add_argument("--fast", action="store_true", help=f"only {fast} {unit}, to see it run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--out", type=Path, default=Path("runs", name), help="the folder for the results")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(argv)
    if options.length is None:
        options.length = fast if options.fast else length
    require_matplotlib()  # rather now than after the training
    return options


class Clock:
    """The seconds that a block took, and those that processors worked on it."""

    seconds = worked = 0.0


@contextmanager
def run(options: argparse.Namespace) -> Iterator[Clock]:
    """A block that computes on the chosen device, from the chosen seed, and is timed."""
    try:
        device = nd.device(options.backend) if options.backend else nd.default_device()
    except nd.TreadleError as error:
        raise SystemExit(f"this backend cannot be used here: {error}") from error
    clock = Clock()
    with nd.use_device(device):
        nd.random.manual_seed(options.seed)
        start, before = time.perf_counter(), time.process_time()
        yield clock
        clock.seconds, clock.worked = time.perf_counter() - start, time.process_time() - before


def tell(result: str, clock: Clock, paths: Sequence[Path]) -> None:
    """Print what was reached, in what time, and where the files are."""
    print(f"{result} ({clock.seconds:.0f} s, {clock.worked:.0f} s of processor time)")
    print("written:", *paths, sep="\n  ")


def new_figure(width: float, height: float) -> Any:
    """An empty picture of matplotlib, in inches."""
    return require_matplotlib()(figsize=(width, height), dpi=130, layout="constrained")


def save_figure(figure: Any, path: Path) -> Path:
    """Write a picture as PNG, whole or not at all."""
    with atomic_write(path, make_folders=True) as file:
        figure.savefig(file, format="png")
    return path


def save_images(path: Path, rows: dict[str, Any], *, zoom: float = 0.8) -> Path:
    """Rows of grey images (count, height, width), each under its name."""
    count = max(len(images) for images in rows.values())
    figure = new_figure(zoom * count + 0.4, (zoom + 0.25) * len(rows))
    axes = figure.subplots(len(rows), count, squeeze=False)
    for line, (name, images) in zip(axes, rows.items(), strict=True):
        line[0].set_title(name, loc="left", fontsize=8)
        for place in line:
            place.set_axis_off()
        for place, image in zip(line, images, strict=False):
            place.imshow(image, cmap="gray_r", vmin=0.0, vmax=1.0)
    return save_figure(figure, path)
