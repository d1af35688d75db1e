"""Files from the network: checked, resumed where they broke off, and never half there."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treadle.data.errors import DownloadError
from treadle.data.progress import progress

if TYPE_CHECKING:
    from http.client import HTTPResponse

__all__ = ["download"]

_CHUNK = 1 << 16
_PARTIAL_CONTENT, _RANGE_NOT_SATISFIABLE = 206, 416


def download(
    url: str,
    path: str | os.PathLike[str],
    *,
    checksum: str | None = None,
    attempts: int = 3,
    timeout: float = 30.0,
    show_progress: bool = True,
) -> Path:
    """Fetch ``url`` into ``path`` and return it; a file that is there already, with the right checksum, stays.

    ``checksum`` is like ``"sha256:9f86d0..."`` or ``"md5:d8e8fc..."``. What has come before a connection breaks is kept
    beside ``path`` as ``.partial``, from where the next attempt, or the next call, goes on (RFC 9110, section 14);
    ``path`` appears when the file is whole and its checksum right.

    Raises DownloadError when the address cannot be reached (naming where to put the file by hand), when the server
    refuses, when the connection keeps breaking, or when the checksum is another one.
    """
    target = Path(path)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"download fetches http and https, not {url!r}")
    if target.exists():
        _check(target, checksum, f"{target}, which is there already; remove it to download it anew,")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    resumed = partial.exists()
    _fetch(url, target, partial, attempts, timeout, show_progress)
    if resumed and checksum is not None and _sum(partial, checksum) != checksum.lower():
        partial.unlink()  # its beginning may be of an older file
        _fetch(url, target, partial, attempts, timeout, show_progress)
    try:
        _check(partial, checksum, f"what {url} sent")
    except DownloadError:
        partial.unlink()
        raise
    os.replace(partial, target)
    return target


def _fetch(url: str, target: Path, partial: Path, attempts: int, timeout: float, show: bool) -> None:
    import urllib.error  # loaded where it is used: it brings a hundred modules
    from http.client import HTTPException

    broken = "the connection broke"
    for _ in range(max(1, attempts)):
        try:
            if _attempt(url, partial, timeout, show):
                return
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{url}: the server answers {error.code} {error.reason}") from error
        except urllib.error.URLError as error:
            raise DownloadError(
                f"{url} cannot be reached ({error.reason}). Without a network, put the file at {target}"
            ) from error
        except (OSError, HTTPException) as error:
            broken = f"the connection broke ({type(error).__name__}: {error})"
    size = partial.stat().st_size if partial.exists() else 0
    raise DownloadError(f"{url}: {broken} {attempts} times; the {size} bytes that came are kept, call again to go on")


def _attempt(url: str, partial: Path, timeout: float, show: bool) -> bool:
    """Fetch what is missing; whether the file is whole now."""
    import urllib.error
    import urllib.request

    begun = partial.stat().st_size if partial.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "treadle", "Accept-Encoding": "identity"})
    if begun:
        request.add_header("Range", f"bytes={begun}-")
    try:
        response: HTTPResponse = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code != _RANGE_NOT_SATISFIABLE or not begun:
            raise
        error.close()
        if error.headers.get("Content-Range", "").strip() == f"bytes */{begun}":
            return True  # nothing is missing
        partial.unlink()
        return False
    with response:
        goes_on = response.status == _PARTIAL_CONTENT and _starts_at(response, begun)
        length = response.headers.get("Content-Length")
        total = None if length is None else int(length) + (begun if goes_on else 0)
        with open(partial, "ab" if goes_on else "wb") as file:
            _copy(response, file, total, show, partial.stem)
    return total is None or partial.stat().st_size == total


def _starts_at(response: "HTTPResponse", begun: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {begun}-")


def _copy(response: "HTTPResponse", file: Any, total: int | None, show: bool, name: str) -> None:
    options: dict[str, Any] = {"unit": "B", "unit_scale": True, "unit_divisor": 1024, "desc": name}
    with progress(total=total, initial=file.tell(), disable=not show, **options) as bar:
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            bar.update(len(chunk))


def _sum(path: Path, checksum: str) -> str:
    kind, _, _ = checksum.partition(":")
    if kind not in ("md5", "sha1", "sha256", "sha512"):
        raise ValueError(f"a checksum is like 'sha256:...', not {checksum!r}")
    with open(path, "rb") as file:
        return f"{kind}:{hashlib.file_digest(file, kind).hexdigest()}"


def _check(path: Path, checksum: str | None, what: str) -> None:
    if checksum is None:
        return
    found = _sum(path, checksum)
    if found != checksum.lower():
        with suppress(OSError):
            size = path.stat().st_size
        raise DownloadError(f"{what} has the checksum {found} ({size} bytes), not {checksum}")
