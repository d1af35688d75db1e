"""Factorisations and Fourier transforms."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import treadle.autograd as ag
from samplers.drawing import SAMPLERS, Draw, Sample, Sampler, sampler


def _h(x: Any) -> Any:
    return ag.conj(ag.matrix_transpose(x))


def _definite(x: Any) -> Any:
    return x @ _h(x) + ag.eye(x.shape[-1], dtype=x.dtype)


def _square(d: Draw) -> Any:
    n = d.number(1, 3)
    return d.matrix(*d.one((), (2,), (0,)), n, n)


def _of_square(name: str, call: Callable[..., Any]) -> None:
    SAMPLERS[name] = lambda d: Sample(call, [_square(d)], flat=False, tolerance=1e-3)


def _rectangle(d: Draw) -> Any:
    return d.matrix(*d.one((), (2,)), d.number(1, 3), d.number(1, 3))


def _of_rectangle(name: str, call: Callable[..., Any]) -> None:
    SAMPLERS[name] = lambda d: Sample(call, [_rectangle(d)], flat=False, tolerance=2e-3)


def _svd(x: Any) -> Any:
    u, s, vh = ag.linalg.svd(x, full_matrices=False)
    return ag.abs(u), s, ag.abs(vh), (u * ag.expand_dims(s**2, axis=-2)) @ vh


def _eigh(x: Any) -> Any:
    values, vectors = ag.linalg.eigh(_definite(x))
    return values, ag.abs(vectors), (vectors * ag.expand_dims(values**2, axis=-2)) @ _h(vectors)


def _eig(x: Any) -> Any:
    values, vectors = ag.linalg.eig(x)
    return values, ag.abs(vectors), (vectors * ag.expand_dims(values**2, axis=-2)) @ ag.linalg.inv(vectors)


_of_square("Inv", ag.ops.Inv())
_of_square("Det", ag.ops.Det())
_of_square("SlogDet", lambda x: tuple(ag.linalg.slogdet(x))[x.dtype.kind != "c" :])
_of_square("Cholesky", lambda x: ag.linalg.cholesky(_definite(x)))
_of_square("Eigh", _eigh)
_of_square("Eig", _eig)
_of_square("linalg.eigvalsh", lambda x: ag.linalg.eigvalsh(_definite(x)))
_of_square("linalg.eigvals", lambda x: ag.linalg.eigvals(x))
_of_square("linalg.matrix_power", lambda x: ag.linalg.matrix_power(x, 3) + ag.linalg.matrix_power(x, -1))
_of_square("linalg.matrix_exp", lambda x: ag.linalg.matrix_exp(x))
_of_rectangle("QR", lambda x: tuple(ag.linalg.qr(x)))
_of_rectangle("SVD", _svd)
_of_rectangle("linalg.svdvals", ag.linalg.svdvals)
_of_rectangle("Pinv", ag.ops.Pinv())


@sampler
def Solve(d: Draw) -> Sample:
    a = _square(d)
    n = a.shape[-1]
    return Sample(ag.ops.Solve(), [a, d.values(d.one((n,), (n, 2), (*a.shape[:-2], n, 1)))], flat=False, tolerance=1e-3)


_of_square("linalg.cond", lambda x: ag.linalg.cond(_definite(x)))


@sampler
def linalg__lstsq(d: Draw) -> Sample:
    n = d.number(1, 3)
    a, b = d.matrix(n + d.number(1, 2), n), d.number(1, 2)
    return Sample(
        lambda a, b: ag.linalg.lstsq(a, b).solution, [a, d.values((a.shape[0], b))], flat=False, tolerance=2e-3
    )


@sampler
def linalg__multi_dot(d: Draw) -> Sample:
    lengths = [d.number(1, 3) for _ in range(4)]
    operands = [d.values(each) for each in itertools.pairwise(lengths)]
    return Sample(lambda *arrays: ag.linalg.multi_dot(arrays), operands, tolerance=1e-3)


@sampler
def linalg__solve_triangular(d: Draw) -> Sample:
    a, left = _square(d), d.one(True, False)
    b = d.values((*a.shape[:-2], a.shape[-1], 2) if left else (*a.shape[:-2], 2, a.shape[-1]))
    upper, unit = d.one(True, False), d.one(True, False)

    def call(a: Any, b: Any) -> Any:
        return ag.linalg.solve_triangular(_definite(a), b, upper=upper, left=left, unitriangular=unit)

    return Sample(call, [a, b], flat=False, tolerance=1e-3)


@sampler
def linalg__householder_product(d: Draw) -> Sample:
    n, stack = d.number(1, 3), d.one((), (2,))
    x, tau = d.matrix(*stack, n + d.number(0, 2), n), d.values((*stack, d.number(1, n)))
    return Sample(ag.linalg.householder_product, [x, tau], flat=False, tolerance=1e-3)


@sampler
def linalg__matrix_norm(d: Draw) -> Sample:
    order = d.one("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)
    keepdims = d.flag()
    return Sample(lambda x: ag.linalg.matrix_norm(x, ord=order, keepdims=keepdims), [_rectangle(d)], flat=False)


@sampler
def linalg__vector_norm(d: Draw) -> Sample:
    order, keepdims = d.one(0, 0.5, 1, 2, 3, math.inf, -math.inf), d.flag()
    x = d.values(d.shape(1, least=1), 0.5, 2.0)
    axis = d.axes(x.ndim)
    return Sample(lambda x: ag.linalg.vector_norm(x, ord=order, axis=axis, keepdims=keepdims), [x], flat=False)


@sampler
def linalg__cross(d: Draw) -> Sample:
    return Sample(ag.linalg.cross, [d.values((*each, 3)) for each in d.one(((), ()), ((2,), ()), ((1,), (2,)))])


# --- Fourier ---
def _to_complex(call: Callable[..., Any], real: bool) -> Sampler:
    """A transform of one axis; the input of one that needs real numbers is always real."""

    def sampler(d: Draw) -> Sample:
        shape = d.shape(1, 2, least=2)
        axis, n, norm = d.axis(len(shape)), d.one(None, 1, 3, 4), d.one("backward", "ortho", "forward")
        return Sample(lambda x: call(x, n=n, axis=axis, norm=norm), [d.values(shape)], complex=not real)

    return sampler


def _several(call: Callable[..., Any], real: bool) -> Sampler:
    def sampler(d: Draw) -> Sample:
        shape = d.shape(1, 3, least=2)
        axes = d.one(None, (0,), tuple(range(len(shape)))[::-1])
        s = d.one(None, (-1,) * len(shape if axes is None else axes), (3,) * len(shape if axes is None else axes))
        return Sample(lambda x: call(x, s=s, axes=axes), [d.values(shape)], complex=not real)

    return sampler


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    SAMPLERS[f"fft.{_name}"] = _to_complex(getattr(ag.fft, _name), _name in ("rfft", "ihfft"))
for _name in ("fftn", "ifftn", "rfftn", "irfftn"):
    SAMPLERS[f"fft.{_name}"] = _several(getattr(ag.fft, _name), _name == "rfftn")
SAMPLERS["fft.fftshift"] = lambda d: Sample(ag.fft.fftshift, [d.values(d.shape(1))])
SAMPLERS["fft.ifftshift"] = lambda d: Sample(ag.fft.ifftshift, [d.values(d.shape(1))])


@sampler
def FourierTransform(d: Draw) -> Sample:
    kind, shape = d.one("fft", "ifft", "rfft", "irfft"), d.shape(1, 2, least=2)
    op = ag.ops.FourierTransform(kind, d.one(None, 1, 3, 4), d.axis(len(shape)), d.one("backward", "ortho", "forward"))
    return Sample(op, [d.values(shape)], complex=kind != "rfft")
