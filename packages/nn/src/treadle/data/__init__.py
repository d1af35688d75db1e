"""Data sets, samplers and the loader that makes batches of them."""

from treadle.data.collate import default_collate, default_convert
from treadle.data.dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset
from treadle.data.digits import Digits
from treadle.data.errors import DataFileError, DownloadError, WorkerError, WorkerTimeoutError
from treadle.data.idx import read_idx
from treadle.data.loader import DataLoader
from treadle.data.progress import progress
from treadle.data.samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StratifiedSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from treadle.data.split import random_split, stratified_split
from treadle.data.worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataFileError",
    "DataLoader",
    "Dataset",
    "Digits",
    "DownloadError",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StratifiedSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerError",
    "WorkerInfo",
    "WorkerTimeoutError",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "progress",
    "random_split",
    "read_idx",
    "stratified_split",
]
