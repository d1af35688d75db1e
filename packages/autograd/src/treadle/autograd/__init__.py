"""treadle.autograd: an explicit computational graph and reverse-mode differentiation.

>>> import treadle.autograd as ag
>>> x = ag.Tensor([[1.0, 2.0]], requires_grad=True)
>>> w = ag.Tensor([[3.0], [4.0]], requires_grad=True)
>>> loss = ag.sum(ag.tanh(x @ w))
>>> loss.op, loss.inputs[0].op
(Sum(), Tanh())
>>> loss.backward()
>>> w.grad.shape
(2, 1)
"""

from typing import TYPE_CHECKING, Any

from treadle.autograd import _engine, _methods, _node, _pool, _tensor, functional, functions, laziness, ops
from treadle.autograd._hints import no_function as _no_function
from treadle.autograd._location import Location
from treadle.autograd._node import live_tensor_count
from treadle.autograd._tensor import Op, Tensor
from treadle.autograd._tuples import TupleOp
from treadle.autograd.checking import check_rules, gradcheck, gradgradcheck, numerical_gradient
from treadle.autograd.checkpointing import checkpoint
from treadle.autograd.creation import tensor
from treadle.autograd.debugging import *
from treadle.autograd.debugging import __all__ as _debugging_names
from treadle.autograd.errors import *
from treadle.autograd.functions import *
from treadle.autograd.functions import __all__ as _function_names
from treadle.autograd.gradients import backward, grad
from treadle.autograd.graph import Graph, reaches
from treadle.autograd.mode import *
from treadle.autograd.modules import Scoped
from treadle.autograd.own_ops import function_op
from treadle.autograd.prediction import Phase, Prediction, predict

__version__ = "0.1.0"

__all__ = [
    "ExportError", "GradientCheckError", "GradientError", "Graph", "GraphFreedError", "Location",
    "NonFiniteError", "OnnxError", "Op", "OpContractError", "Phase", "Prediction", "SavedValueError", "Scoped",
    "Tensor", "TupleOp", "backward", "check_rules", "checkpoint", "enable_grad", "function_op", "functional",
    "functions", "grad", "gradcheck", "gradgradcheck", "inference_mode", "is_grad_enabled",
    "is_inference_mode_enabled", "is_lazy", "lazy", "live_tensor_count", "no_grad", "numerical_gradient", "ops",
    "predict", "reaches", "set_grad_enabled", "tensor",
]  # fmt: skip
__all__ += _function_names
__all__ += _debugging_names

_methods.bind(functions)
_node.bind(laziness.realize)
_tensor.bind(functions, _engine.differentiate, laziness.intercept)
_engine.bind(functions)
_pool.recycle(Tensor, _pool.SPARE_NODES)
_pool.look_through_operands(Tensor.__new__(Tensor))

if not TYPE_CHECKING:  # to type checkers it would make every misspelt name a known one

    def __getattr__(name: str) -> Any:
        """Called for what is not there; the error says how it is written here."""
        raise _no_function(__name__, name)
