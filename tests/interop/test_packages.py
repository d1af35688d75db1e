"""Real packages that take arrays of any library: einops, array-api-compat, SciPy, scikit-learn.

SciPy and scikit-learn are asked in processes of their own, since a variable read at their import opens them to other
arrays. Each case computes with treadle's arrays and with NumPy's, and the result must be an array of treadle.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

import treadle.ndarray as nd

VALUES = np.random.default_rng(0).random((2, 3, 4)).astype(np.float32)

EINOPS: dict[str, Callable[[Any, Any], Any]] = {
    "rearrange": lambda e, x: e.rearrange(x, "a b c -> c (a b)"),
    "rearrange, split": lambda e, x: e.rearrange(x, "a b (c d) -> (a d) b c", d=2),
    "rearrange, a list": lambda e, x: e.rearrange([x[0], x[1]], "n b c -> c n b"),
    "reduce, mean": lambda e, x: e.reduce(x, "a b c -> b", "mean"),
    "reduce, max": lambda e, x: e.reduce(x, "a b (c d) -> a c", "max", d=2),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a b r c", r=2),
    "pack": lambda e, x: e.pack([x, x[:, :1]], "a * c")[0],
}


@pytest.mark.parametrize("case", EINOPS)
def test_einops(case: str) -> None:
    """Through its module for the array API; the plain one knows a closed list of libraries."""
    einops = pytest.importorskip("einops.array_api")
    result = EINOPS[case](einops, nd.asarray(VALUES))
    assert isinstance(result, nd.NDArray)
    expected: Any = EINOPS[case](einops, VALUES)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = nd.asarray(VALUES)
    assert compat.array_namespace(x) is nd
    assert compat.is_array_api_obj(x) and compat.is_writeable_array(x)
    assert not (compat.is_numpy_array(x) or compat.is_torch_array(x) or compat.is_lazy_array(x))
    assert compat.size(x) == 24 and compat.device(x) == "cpu"
    moved = compat.to_device(x, "numpy")
    assert moved.device == "numpy" and moved.tolist() == x.tolist()
    with pytest.raises(TypeError):
        compat.array_namespace(x, VALUES)


SCIPY = {
    "special.logsumexp": "special.logsumexp(x, axis=0)",
    "special.softmax": "special.softmax(x, axis=1)",
    "special.expit": "special.expit(x)",
    "special.xlogy": "special.xlogy(x, x)",
    "stats.zscore": "stats.zscore(x)",
    "stats.skew": "stats.skew(x, axis=1)",
    "stats.ttest_ind": "stats.ttest_ind(x[:9, ...], x[9:, ...]).pvalue",
    "stats.pearsonr": "stats.pearsonr(x[:, 0], x[:, 1]).statistic",
    "stats.gmean": "stats.gmean(x)",
    "signal.detrend": "signal.detrend(x)",
    "signal.convolve": "signal.convolve(x[:, 0], x[:, 1])",
    "ndimage.gaussian_filter": "ndimage.gaussian_filter(x, 1.0)",
    "integrate.trapezoid": "integrate.trapezoid(x, axis=0)",
    "optimize.rosen": "optimize.rosen(x)",
    "cluster.vq.whiten": "cluster.vq.whiten(x)",
    "fft.dct": "fft.dct(x)",
    "spatial.Rotation": "spatial.transform.Rotation.from_quat(x[:, :4]).as_matrix()",
}

SCIPY_MODULES = ", ".join(sorted({case.partition(".")[0] for case in SCIPY}))

SKLEARN = {
    "MinMaxScaler": "preprocessing.MinMaxScaler().fit_transform(x)",
    "StandardScaler": "preprocessing.StandardScaler().fit_transform(x)",
    "Normalizer": "preprocessing.Normalizer().fit_transform(x)",
    "PCA": "abs(decomposition.PCA(2, svd_solver='full').fit_transform(x))",
    "Ridge": "linear_model.Ridge(solver='svd').fit(x, x[:, 0]).predict(x)",
    "euclidean_distances": "metrics.pairwise.euclidean_distances(x[:4, :], x[4:, :])",
    "r2_score": "metrics.r2_score(x, x * 1.1)",
}

PROGRAM = """
import json, sys, traceback
import numpy as np
import treadle.ndarray as nd
{imports}
values = np.random.default_rng(0).random((20, 5))

def agree(call):
    x = values
    expected = eval(call, globals(), dict(x=x))
    result = eval(call, globals(), dict(x=nd.asarray(values, copy=True)))
    if isinstance(result, float):
        result, expected = nd.asarray(result, dtype="float64"), np.asarray(expected)
    assert isinstance(result, nd.NDArray), type(result)
    assert result.shape == expected.shape and result.dtype == expected.dtype.name, (result.shape, result.dtype)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-9, atol=1e-12)

answers = dict()
for case, call in json.loads(sys.argv[1]).items():
    try:
        agree(call)
    except Exception:
        answers[case] = traceback.format_exc()
    else:
        answers[case] = "agree"
print(json.dumps(answers))
"""


@cache
def answers(package: str) -> dict[str, str]:
    """What became of each case of a package, all from one process."""
    cases, imports = {
        "scipy": (SCIPY, f"from scipy import {SCIPY_MODULES}"),
        "sklearn": (SKLEARN, "import sklearn\nfrom sklearn import decomposition, linear_model, metrics, preprocessing\n"
                    "sklearn.set_config(array_api_dispatch=True)"),
    }[package]  # fmt: skip
    program = PROGRAM.format(imports=imports)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, json.dumps(cases)],
        capture_output=True, text=True, timeout=600, check=False, env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return cast(dict[str, str], json.loads(done.stdout))


@pytest.mark.parametrize("case", SCIPY)
def test_scipy(case: str) -> None:
    pytest.importorskip("scipy", minversion="1.16")
    assert answers("scipy")[case] == "agree", answers("scipy")[case]


@pytest.mark.parametrize("case", SKLEARN)
def test_scikit_learn(case: str) -> None:
    pytest.importorskip("sklearn", minversion="1.7")
    assert answers("sklearn")[case] == "agree", answers("sklearn")[case]
