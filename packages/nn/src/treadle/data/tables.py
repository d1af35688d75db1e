"""Tables in text: CSV with a header and a type for each column (RFC 4180)."""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.data.dataset import TensorDataset
from treadle.data.errors import DataFileError

__all__ = ["CSVDataset", "read_csv"]

_KINDS = ("float32", "float64", "int64", "bool", "category", "str")
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


def read_csv(
    path: str | os.PathLike[str],
    types: Mapping[str, str],
    *,
    header: bool | Sequence[str] = True,
    delimiter: str = ",",
    missing: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """The columns that ``types`` names, each of its type: float32, float64, int64, bool, category, or str.

    A column is a 1-D array on the cpu; of a category the numbers of its values, which ``categories`` gives in order
    (sorted as they occur otherwise); of str a list. ``header`` says whether the first line has the names, or gives
    them. Texts in ``missing`` become NaN in a column of floats.

    Blank lines are skipped where there are several columns. A line with too few or too many fields, a value that is
    not of its type, or a missing one elsewhere is a DataFileError with the line and the column.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     _ = file.write("size,kind\\n1.5,b\\n2.5,a\\n")
    ...     file.flush()
    ...     read_csv(file.name, {"size": "float32", "kind": "category"})
    {'size': array([1.5, 2.5]), 'kind': array([1, 0])}
    """
    for name, kind in types.items():
        if kind not in _KINDS:
            raise ValueError(f"column {name!r}: the type is one of {', '.join(_KINDS)}, not {kind!r}")
    place = Path(path)
    columns: dict[str, list[Any]] = {name: [] for name in types}
    try:
        with open(place, newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            names = _names(place, lines, header)
            positions = [(name, kind, _position(place, names, name)) for name, kind in types.items()]
            for fields in lines:
                if not fields and len(names) > 1:  # a blank line
                    continue
                if len(fields) != len(names):
                    raise DataFileError(f"{place}, line {lines.line_num}: {len(fields)} fields, not {len(names)}")
                for name, kind, position in positions:
                    columns[name].append(_value(place, lines.line_num, name, kind, fields[position], missing))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataFileError(f"{place} is no CSV in UTF-8: {error}") from error
    given = categories or {}
    return {name: _column(place, name, types[name], values, given.get(name)) for name, values in columns.items()}


def _names(place: Path, lines: Iterator[list[str]], header: bool | Sequence[str]) -> list[str]:
    if header is False:
        raise ValueError("a file without a header needs names: header=['size', 'kind', ...]")
    names = next(lines, None) if header is True else list(header)
    if not names:
        raise DataFileError(f"{place} is empty: there is no header")
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise DataFileError(f"{place} has the column {doubled[0]!r} twice")
    return names


def _position(place: Path, names: list[str], name: str) -> int:
    if name not in names:
        raise DataFileError(f"{place} has no column {name!r}, only {', '.join(names)}")
    return names.index(name)


def _value(place: Path, line: int, name: str, kind: str, text: str, missing: Sequence[str]) -> Any:
    if kind in ("str", "category"):
        return text
    try:
        if "_" in text:  # which Python's numbers may have
            raise ValueError
        if kind == "int64":
            value = int(text)
            if not -(1 << 63) <= value < 1 << 63:
                raise ValueError
            return value
        if kind == "bool":
            return (*_FALSE, *_TRUE).index(text.strip().lower()) >= len(_FALSE)
        return float("nan") if text in missing else float(text)
    except ValueError:
        raise DataFileError(f"{place}, line {line}, column {name!r}: {text!r} is no {kind}") from None


def _column(place: Path, name: str, kind: str, values: list[Any], categories: Sequence[str] | None) -> Any:
    if kind == "str":
        return values
    if kind == "category":
        known = sorted(set(values)) if categories is None else list(categories)
        numbers = {value: number for number, value in enumerate(known)}
        unknown = [value for value in values if value not in numbers]
        if unknown:
            raise DataFileError(f"{place}, column {name!r}: {unknown[0]!r} is none of {', '.join(known)}")
        values, kind = [numbers[value] for value in values], "int64"
    return nd.asarray(values, dtype=kind, device="cpu") if values else nd.empty((0,), dtype=kind, device="cpu")


class CSVDataset(TensorDataset):
    """The rows of a CSV file: sample i is (the ``inputs`` columns as a vector of float32, the ``target``).

    ``target_type`` is float32 (regression) or category (classification: int64). ``columns`` keeps what was read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as file:
    ...     _ = file.write("width,height,kind\\n1,2,b\\n3,4,a\\n")
    ...     file.flush()
    ...     CSVDataset(file.name, ["width", "height"], "kind", target_type="category").tensors[1].numpy().tolist()
    [1, 0]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        inputs: Sequence[str],
        target: str,
        *,
        target_type: str = "float32",
        **options: Any,
    ) -> None:
        if isinstance(inputs, str) or not inputs:
            raise ValueError(f"inputs are the names of one column or more, not {inputs!r}")
        types = {**dict.fromkeys(inputs, "float32"), target: target_type}
        self.columns = read_csv(path, types, **options)
        matrix = nd.stack([self.columns[name] for name in inputs], axis=1)
        super().__init__(Tensor(matrix), Tensor(self.columns[target]))
