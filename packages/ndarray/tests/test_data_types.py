"""The standard's data type functions and the description of the namespace."""

import numpy as np
import pytest

import treadle.ndarray as nd
from treadle.ndarray.data_types import KINDS

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")


@pytest.mark.parametrize("name", FLOATS)
def test_finfo(name: str) -> None:
    ours, theirs = nd.finfo(name), np.finfo(name)
    assert ours.bits == theirs.bits
    assert [ours.eps, ours.max, ours.min] == [float(each) for each in (theirs.eps, theirs.max, theirs.min)]
    assert ours.smallest_normal == theirs.smallest_normal
    assert ours.dtype == name
    assert nd.finfo(nd.zeros(1, dtype=name)) == ours


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name: str) -> None:
    ours, theirs = nd.iinfo(name), np.iinfo(name)
    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert ours.dtype == name


def test_limits_of_other_kinds_are_refused() -> None:
    for name in (*INTEGERS, "bool"):
        with pytest.raises(nd.DTypeError, match="finfo"):
            nd.finfo(name)
    for name in (*FLOATS, "bool"):
        with pytest.raises(nd.DTypeError, match="iinfo"):
            nd.iinfo(name)


@pytest.mark.parametrize("name", ("bool", *INTEGERS, *FLOATS))
@pytest.mark.parametrize("kind", KINDS)
def test_isdtype(name: str, kind: str) -> None:
    assert nd.isdtype(nd.dtype(name), kind) == np.isdtype(np.dtype(name), kind)
    assert nd.isdtype(name, (kind, nd.dtype(name)))
    assert nd.isdtype(name, ("complex floating", kind)) == np.isdtype(np.dtype(name), kind)


def test_isdtype_of_unknown_kinds() -> None:
    with pytest.raises(nd.DTypeError, match="float"):
        nd.isdtype(nd.int8, "floating")


def test_can_cast_stays_within_a_kind() -> None:
    for source in ("bool", *INTEGERS, *FLOATS):
        for target in ("bool", *INTEGERS, *FLOATS):
            same = {np.dtype(each).kind.replace("u", "i") for each in (source, target)}
            expected = len(same) == 1 and np.can_cast(source, target)
            assert nd.can_cast(source, target) == expected, (source, target)
            assert nd.can_cast(nd.zeros(1, dtype=source), nd.dtype(target)) == expected


def test_result_type() -> None:
    assert nd.result_type(nd.int8, nd.int16, nd.uint8) == nd.int16
    assert nd.result_type(nd.zeros(1, dtype="uint8"), -1) == nd.uint8
    assert nd.result_type(nd.float32, 1e300) == nd.float32
    assert nd.result_type(nd.float64, 1) == nd.float64
    assert nd.result_type(nd.bool, True) == nd.bool
    assert nd.result_type(nd.bool, 1) == nd.int64
    assert nd.result_type(1.0, nd.bool) == nd.float32
    with pytest.raises(nd.DTypeError, match="result_type"):
        nd.result_type(1, 2.0)


def test_namespace_info() -> None:
    info = nd.__array_namespace_info__()
    assert nd.zeros(1).__array_namespace__() is nd
    assert nd.zeros(1).__array_namespace__(api_version=nd.__array_api_version__) is nd
    assert nd.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match=r"2020\.12"):
        nd.zeros(1).__array_namespace__(api_version="2020.12")
    assert info.default_device() == nd.default_device()
    assert info.default_dtypes()["indexing"] == nd.int64
    assert set(info.dtypes(kind="integral")) == set(INTEGERS)
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", *FLOATS}
    assert set(info.dtypes()) >= {"bool", *INTEGERS, *FLOATS}
    assert {"cpu", "numpy"} <= {str(each) for each in info.devices()}
    with pytest.raises(nd.DTypeError, match="kind"):
        info.dtypes(kind="whole")


def test_astype_moves_and_copies_only_when_asked() -> None:
    x = nd.zeros(2, device="cpu")
    assert nd.astype(x, x.dtype, copy=False) is x
    assert nd.astype(x, x.dtype) is not x
    moved = nd.astype(x, "int8", device="numpy")
    assert moved.device == "numpy" and moved.dtype == nd.int8
    assert nd.astype(x, x.dtype, copy=False, device="cpu") is x


def test_parts_of_real_numbers_and_complex() -> None:
    x = nd.asarray([1.5, -2.0])
    assert nd.conj(x).tolist() == nd.real(x).tolist() == [1.5, -2.0]
    assert nd.imag(x).tolist() == [0.0, 0.0]
    assert complex(x[0]) == 1.5 + 0j
