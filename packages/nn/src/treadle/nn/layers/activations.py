"""Activations: each a class of one line, whose settings are those of the function of the same kind."""

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import treadle.ndarray as nd
from treadle.autograd import Tensor
from treadle.nn import functional
from treadle.nn.module import Module
from treadle.nn.parameter import Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
    "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax", "Softmax2d",
    "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class Activation(Module):
    """Base of the activations without parameters: ``function(input, **settings)``.

    A subclass names the function; the settings, their order and defaults are read off its signature, and become
    attributes. ``inplace``, where PyTorch takes it, is taken so that existing models build; the result always has its
    own memory.
    """

    function: ClassVar[Callable[..., Tensor]]
    settings: ClassVar[inspect.Signature]

    def __init_subclass__(cls, function: Callable[..., Tensor], without: tuple[str, ...] = (), **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.function = staticmethod(function)
        parameters = list(inspect.signature(function).parameters.values())[1:]
        cls.settings = inspect.Signature([each for each in parameters if each.name not in without])
        if all(name == "inplace" for name in cls.settings.parameters):
            cls.forward = Activation._plain  # type: ignore[method-assign]
        cls.__signature__ = cls.settings  # type: ignore[attr-defined]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__()
        try:
            bound = self.settings.bind(*arguments, **options)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}{self.settings}: {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``, of the same shape (but for :class:`GLU`)."""
        return self.function(input, **{name: getattr(self, name) for name in self.settings.parameters})

    def _plain(self, input: Tensor) -> Tensor:
        """The same where no setting makes a difference."""
        return self.function(input)

    def extra_repr(self) -> str:
        shown = {name: getattr(self, name) for name in self.settings.parameters}
        if list(shown) == ["lambd"]:
            return str(shown["lambd"])
        return ", ".join(f"{name}={value!r}" for name, value in shown.items() if name != "inplace" or value)


class ReLU(Activation, function=functional.relu):
    """``max(input, 0)``, with gradient 0 at 0. Nair and Hinton 2010.

    >>> import treadle.nn as nn
    >>> nn.ReLU()(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """


class ReLU6(Activation, function=functional.relu6):
    """``min(max(input, 0), 6)``. Krizhevsky 2010, "Convolutional deep belief networks on CIFAR-10".

    >>> import treadle.nn as nn
    >>> nn.ReLU6()(Tensor([-1.0, 9.0])).tolist()
    [0.0, 6.0]
    """


class LeakyReLU(Activation, function=functional.leaky_relu):
    """``input`` where positive, else ``negative_slope * input``. Maas et al. 2013.

    >>> import treadle.nn as nn
    >>> nn.LeakyReLU(0.5)(Tensor([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """


class ELU(Activation, function=functional.elu):
    """``input`` where positive, else ``alpha * (exp(input) - 1)``. Clevert et al. 2016.

    >>> import treadle.nn as nn
    >>> nn.ELU()(Tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """


class CELU(Activation, function=functional.celu):
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``. Barron 2017.

    >>> import treadle.nn as nn
    >>> nn.CELU(0.5)(Tensor([0.0, 2.0])).tolist()
    [0.0, 2.0]
    """


class SELU(Activation, function=functional.selu):
    """A scaled :class:`ELU` that keeps mean 0 and variance 1. Klambauer et al. 2017.

    >>> import treadle.nn as nn
    >>> round(nn.SELU()(Tensor([1.0])).item(), 4)
    1.0507
    """


class GELU(Activation, function=functional.gelu):
    """``input`` times the normal distribution's cumulative probability of it; ``approximate`` may be "tanh".
    Hendrycks and Gimpel 2016.

    >>> import treadle.nn as nn
    >>> round(nn.GELU()(Tensor([1.0])).item(), 4)
    0.8413
    """


class SiLU(Activation, function=functional.silu):
    """``input * sigmoid(input)``. Elfwing et al. 2018; Ramachandran et al. 2017 ("Swish").

    >>> import treadle.nn as nn
    >>> round(nn.SiLU()(Tensor([1.0])).item(), 4)
    0.7311
    """


class Mish(Activation, function=functional.mish):
    """``input * tanh(softplus(input))``. Misra 2019.

    >>> import treadle.nn as nn
    >>> round(nn.Mish()(Tensor([1.0])).item(), 4)
    0.8651
    """


class Softplus(Activation, function=functional.softplus):
    """``log(1 + exp(beta * input)) / beta``, linear where ``beta * input`` exceeds ``threshold``. Dugas et al. 2001.

    >>> import treadle.nn as nn
    >>> round(nn.Softplus()(Tensor([0.0])).item(), 4)
    0.6931
    """


class Softsign(Activation, function=functional.softsign):
    """``input / (1 + |input|)``. Bergstra et al. 2009.

    >>> import treadle.nn as nn
    >>> nn.Softsign()(Tensor([3.0])).item()
    0.75
    """


class Tanh(Activation, function=functional.tanh):
    """The hyperbolic tangent.

    >>> import treadle.nn as nn
    >>> nn.Tanh()(Tensor([0.0])).item()
    0.0
    """


class Sigmoid(Activation, function=functional.sigmoid):
    """``1 / (1 + exp(-input))``.

    >>> import treadle.nn as nn
    >>> nn.Sigmoid()(Tensor([0.0])).item()
    0.5
    """


class LogSigmoid(Activation, function=functional.logsigmoid):
    """``log(sigmoid(input))``, without overflow.

    >>> import treadle.nn as nn
    >>> nn.LogSigmoid()(Tensor([-1000.0])).item()
    -1000.0
    """


class Softmax(Activation, function=functional.softmax, without=("dtype",)):
    """``exp(input) / sum(exp(input))`` along ``dim``; without ``dim`` one is guessed, with a warning.

    >>> import treadle.nn as nn
    >>> nn.Softmax(dim=0)(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """


class LogSoftmax(Activation, function=functional.log_softmax, without=("dtype",)):
    """``log(softmax(input))`` along ``dim``, without overflow.

    >>> import treadle.nn as nn
    >>> nn.LogSoftmax(dim=0)(Tensor([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """


class Softmin(Activation, function=functional.softmin, without=("dtype",)):
    """``softmax(-input)`` along ``dim``.

    >>> import treadle.nn as nn
    >>> nn.Softmin(dim=0)(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """


class Hardswish(Activation, function=functional.hardswish):
    """``input * hardsigmoid(input)``. Howard et al. 2019, "Searching for MobileNetV3".

    >>> import treadle.nn as nn
    >>> nn.Hardswish()(Tensor([0.0, 3.0])).tolist()
    [0.0, 3.0]
    """


class Hardsigmoid(Activation, function=functional.hardsigmoid):
    """``input / 6 + 1/2`` cut to the interval from 0 to 1. Courbariaux et al. 2015, in MobileNetV3's form.

    >>> import treadle.nn as nn
    >>> nn.Hardsigmoid()(Tensor([-3.0, 0.0, 3.0])).tolist()
    [0.0, 0.5, 1.0]
    """


class Hardtanh(Activation, function=functional.hardtanh):
    """``input`` cut to the interval from ``min_val`` to ``max_val``. Collobert 2004.

    >>> import treadle.nn as nn
    >>> nn.Hardtanh(-2, 2)(Tensor([-3.0, 0.5, 3.0])).tolist()
    [-2.0, 0.5, 2.0]
    """


class Hardshrink(Activation, function=functional.hardshrink):
    """``input``, and 0 where its size is at most ``lambd``. Donoho and Johnstone 1994, hard thresholding.

    >>> import treadle.nn as nn
    >>> nn.Hardshrink()(Tensor([-1.0, 0.25])).tolist()
    [-1.0, 0.0]
    """


class Softshrink(Activation, function=functional.softshrink):
    """``input`` moved towards 0 by ``lambd``, and 0 where its size is less. Donoho 1995, soft thresholding.

    >>> import treadle.nn as nn
    >>> nn.Softshrink()(Tensor([-1.0, 0.25])).tolist()
    [-0.5, 0.0]
    """


class Tanhshrink(Activation, function=functional.tanhshrink):
    """``input - tanh(input)``.

    >>> import treadle.nn as nn
    >>> nn.Tanhshrink()(Tensor([0.0])).item()
    0.0
    """


class Threshold(Activation, function=functional.threshold):
    """``input`` where it exceeds ``threshold``, else ``value``.

    >>> import treadle.nn as nn
    >>> nn.Threshold(1.0, -7.0)(Tensor([0.5, 2.0])).tolist()
    [-7.0, 2.0]
    """


class GLU(Activation, function=functional.glu):
    """The first half of ``input`` along ``dim`` times the sigmoid of the second, so half as long. Dauphin et al. 2017.

    >>> import treadle.nn as nn
    >>> nn.GLU()(Tensor([3.0, 0.0])).tolist()
    [1.5]
    """


class RReLU(Activation, function=functional.rrelu, without=("training",)):
    """:class:`LeakyReLU` with slopes drawn from ``[lower, upper]`` in training, and their mean else. Xu et al. 2015.

    >>> import treadle.nn as nn
    >>> nn.RReLU(0.25, 0.75).eval()(Tensor([-1.0, 2.0])).tolist()
    [-0.5, 2.0]
    """

    lower: float
    upper: float

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``, of the same shape."""
        return functional.rrelu(input, self.lower, self.upper, self.training)


class Softmax2d(Module):
    """Softmax over the channels of ``(batch, channels, height, width)``, or without batch.

    >>> import treadle.nn as nn
    >>> nn.Softmax2d()(Tensor([[[0.0]], [[0.0]]])).tolist()
    [[[0.5]], [[0.5]]]
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax along dimension -3; ShapeError unless there are 3 or 4."""
        if input.ndim not in (3, 4):
            raise nd.ShapeError(f"Softmax2d: an input of shape {input.shape}; it has 3 or 4 dimensions")
        return functional.softmax(input, dim=-3)


class PReLU(Module):
    """:class:`LeakyReLU` with learnt slopes: one, or one for each channel (dimension 1). He et al. 2015, "Delving deep
    into rectifiers". Weight decay is better kept from ``weight``, ``(num_parameters,)``.

    >>> import treadle.nn as nn
    >>> nn.PReLU()(Tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        dtype = nd.float32 if dtype is None else dtype
        self.weight = Parameter(nd.full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``, of the same shape."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
