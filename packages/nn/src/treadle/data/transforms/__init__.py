"""What is done to a sample before it becomes part of a batch: torchvision's names, on arrays (channels, height, width).

A transform takes an NDArray, or what ``asarray`` takes, and returns an NDArray. Those that draw take a ``generator``;
without one they draw from the default one. Worker processes seed both anew for each batch.
"""

from treadle.data.transforms.base import Compose, Lambda, RandomApply, Transform
from treadle.data.transforms.crops import CenterCrop, Pad, RandomCrop
from treadle.data.transforms.flips import RandomHorizontalFlip, RandomVerticalFlip
from treadle.data.transforms.resampling import RandomRotation, Resize
from treadle.data.transforms.values import Normalize, OneHot, RandomErasing, ToArray

__all__ = [
    "CenterCrop", "Compose", "Lambda", "Normalize", "OneHot", "Pad", "RandomApply", "RandomCrop", "RandomErasing",
    "RandomHorizontalFlip", "RandomRotation", "RandomVerticalFlip", "Resize", "ToArray", "Transform",
]  # fmt: skip
