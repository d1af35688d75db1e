"""Data sets, samplers and the loader that makes batches of them."""

from treadle.data.collate import default_collate
from treadle.data.dataset import Dataset, Subset, TensorDataset
from treadle.data.digits import Digits
from treadle.data.idx import DataFileError, read_idx
from treadle.data.loader import DataLoader
from treadle.data.progress import progress
from treadle.data.samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler
from treadle.data.split import random_split, stratified_split

__all__ = [
    "BatchSampler",
    "DataFileError",
    "DataLoader",
    "Dataset",
    "Digits",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "default_collate",
    "progress",
    "random_split",
    "read_idx",
    "stratified_split",
]
