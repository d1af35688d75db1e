"""Products as they are written for machines with vector units, and in blocks of several rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from packages.autograd.tests.export.building import Library
from packages.autograd.tests.export.drawing import Case, Draws
from packages.autograd.tests.export.samples_of_products import PRODUCTS
from packages.autograd.tests.export.test_every_function import Suite, assert_gradients, assert_results

import treadle.autograd as ag
from treadle.autograd.export import Target, c_panels, trace

TARGETS = {
    "vectors": Target(tile=64, unrolled=False, block=(6, 16)), "narrow": Target(tile=4, unrolled=False, block=(3, 4)),
    "registers": Target(tile=8, block=(2, 8)),
}  # fmt: skip


def _rows(draws: Draws) -> Case:
    """Matrices of many rows, the columns of either operand dense or not."""
    n, k, m = draws.of(2, 7, 13, 20), draws.of(1, 3, 130, 200), draws.of(4, 16, 17, 35)
    batch = draws.of((), (), (2,), (2, 3))
    kind = draws.of("float32", "float32", "float64", "int32")
    left, right = draws.values((*batch, n, k), kind, -3, 3), draws.values((*batch, m, k), kind, -3, 3)
    if draws.integer(0, 1):
        return Case(lambda x, y: ag.matmul(x, ag.matrix_transpose(y)), [left, right], linear=True)
    return Case(
        lambda x, y: ag.matmul(ag.matrix_transpose(x), ag.matrix_transpose(y)),
        [np.swapaxes(left, -1, -2), right],
        linear=True,
    )


def _filters(draws: Draws) -> Case:
    """Convolutions whose rows have borders of several widths, and an inside that no block divides."""
    x = draws.floats((draws.of(1, 2), 3, draws.of(3, 5), draws.of(1, 3, 9, 20)))
    w = draws.floats((draws.of(4, 17, 20), 3, draws.of(1, 3), draws.of(1, 3, 5)))
    options = {"padding": draws.of((1, 4), (2, 5)), "stride": draws.of(1, 1, 2), "dilation": draws.of(1, 1, 2)}
    if draws.integer(0, 1):
        options = {"padding": "same"}
    return Case(lambda x, w: ag.conv(x, w, **options), [x, w], linear=True)


NAMES = ("matmul", "einsum", "tensordot", "linear", "conv", "conv_transpose", "conv_weight_gradient")
SAMPLERS = {"rows": _rows, "filters": _filters, **{name: PRODUCTS[name] for name in NAMES}}


@pytest.fixture(scope="module", params=TARGETS)
def suite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(c_panels, "_WORTH", 1)
        found = Suite(tmp_path_factory.mktemp("targets"), SAMPLERS, (6, 3), target=TARGETS[request.param])
    for errors in found.faults.values():
        for error in errors:
            raise error
    yield found


@pytest.mark.parametrize("name", SAMPLERS)
def test_results(suite: Suite, name: str) -> None:
    assert_results(suite, name)


@pytest.mark.parametrize("name", SAMPLERS)
def test_gradients(suite: Suite, name: str) -> None:
    assert_gradients(suite, name)


@pytest.mark.parametrize("target", TARGETS)
def test_padding_is_left_out_not_multiplied(target: str, tmp_path: Any) -> None:
    """A weight that is infinite spoils what it meets, and not what it would meet outside of the image."""
    w = np.ones((8, 1, 1, 3), "float32")
    w[:, :, :, 0] = np.inf
    library = Library(tmp_path)
    example = ag.Tensor(np.ones((1, 1, 2, 20), "float32"))
    library.add(
        "infinite", trace(lambda x: ag.conv(x, ag.Tensor(w), padding=(0, 1)), [example]), target=TARGETS[target]
    )
    (got,) = library.call("infinite", [example.numpy()])
    assert np.isfinite(got[..., 0]).all() and np.isinf(got[..., 1:]).all()
