"""Data sets, samplers and the loader that makes batches of them."""

from treadle.data import transforms
from treadle.data.collate import default_collate, default_convert
from treadle.data.dataset import *
from treadle.data.digits import Digits
from treadle.data.download import download
from treadle.data.errors import DataFileError, DownloadError, WorkerError, WorkerTimeoutError
from treadle.data.idx import read_idx
from treadle.data.image_folder import ImageFolder, read_image
from treadle.data.images import CIFAR10, CIFAR100, MNIST, FashionMNIST, ImageArrays
from treadle.data.loader import DataLoader
from treadle.data.progress import progress
from treadle.data.samplers import *
from treadle.data.split import random_split, stratified_split
from treadle.data.tables import CSVDataset, read_csv
from treadle.data.text import TokenWindows, Vocabulary, split_words
from treadle.data.tokens import TokenFile, write_tokens
from treadle.data.worker_info import WorkerInfo, get_worker_info

__all__ = [
    "CIFAR10", "CIFAR100", "MNIST", "BatchSampler", "CSVDataset", "ChainDataset", "ConcatDataset", "DataFileError",
    "DataLoader", "Dataset", "Digits", "DownloadError", "FashionMNIST", "ImageArrays", "ImageFolder", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "StratifiedSampler", "Subset",
    "SubsetRandomSampler", "TensorDataset", "TokenFile", "TokenWindows", "Vocabulary", "WeightedRandomSampler",
    "WorkerError", "WorkerInfo", "WorkerTimeoutError", "default_collate", "default_convert", "download",
    "get_worker_info", "progress", "random_split", "read_csv", "read_idx", "read_image", "split_words",
    "stratified_split", "transforms", "write_tokens",
]  # fmt: skip
