"""Every op as a class: an instance carries its configuration and is called on tensors.

>>> import treadle.autograd as ag
>>> ag.ops.Sum(axis=1)(ag.Tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
[3.0, 7.0]
"""

from treadle.autograd._elementwise import *
from treadle.autograd.ops.attention import *
from treadle.autograd.ops.binary import *
from treadle.autograd.ops.complex_parts import *
from treadle.autograd.ops.contractions import *
from treadle.autograd.ops.convolution import *
from treadle.autograd.ops.decompositions import *
from treadle.autograd.ops.fourier import *
from treadle.autograd.ops.indexing import *
from treadle.autograd.ops.linalg import *
from treadle.autograd.ops.losses import *
from treadle.autograd.ops.manipulation import *
from treadle.autograd.ops.normalizing import *
from treadle.autograd.ops.rearranging import *
from treadle.autograd.ops.reductions import *
from treadle.autograd.ops.sorting import *
from treadle.autograd.ops.ternary import *
from treadle.autograd.ops.trigonometric import *
from treadle.autograd.ops.unary import *
