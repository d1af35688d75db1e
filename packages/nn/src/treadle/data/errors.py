"""The errors of treadle.data that the layers below do not know."""

import treadle.ndarray as nd

__all__ = ["DataFileError", "DownloadError", "WorkerError", "WorkerTimeoutError"]


class DataFileError(nd.TreadleError, ValueError):
    """A data file that is damaged or of another format."""


class DownloadError(nd.TreadleError, OSError):
    """A file that could not be fetched, or that is another than the one asked for."""


class WorkerError(nd.TreadleError, RuntimeError):
    """A worker process of a loader that died, or failed with an exception that cannot be taken over as it is."""


class WorkerTimeoutError(WorkerError, TimeoutError):
    """A batch that did not come within the ``timeout`` of its loader."""
