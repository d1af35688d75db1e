"""Progress bars."""

import sys
from collections.abc import Iterable
from typing import Any

__all__ = ["progress"]


def progress(iterable: Iterable[Any] | None = None, **options: Any) -> Any:
    """``iterable`` with a tqdm progress bar; ``options`` are tqdm's, such as ``desc``, ``total`` and ``disable``.

    >>> list(progress([1, 2], disable=True))
    [1, 2]
    """
    from tqdm import tqdm

    if sys.stderr is None and options.get("file") is None:  # a process without a console
        options["disable"] = True
    return tqdm(iterable, dynamic_ncols=True, **options)
