"""Downloads from a server on this machine, which breaks, lies and refuses as asked."""

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from treadle.data import DownloadError, download

CONTENT = bytes(range(256)) * 2000
CHECKSUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class Handler(BaseHTTPRequestHandler):
    """Sends CONTENT; ``server.breaks`` connections end early, ``server.ranges`` says whether parts are sent."""

    server: Any

    def do_GET(self) -> None:
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append(wanted)
        if self.path != "/file":
            self.send_error(404, "Not Found")
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.ranges else 0
        if start >= len(CONTENT):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        stop = len(CONTENT)
        if server.breaks:
            server.breaks -= 1
            stop = start + (len(CONTENT) - start) // 2
        self.wfile.write(CONTENT[start:stop])

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    running: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.breaks, running.ranges, running.asked = 0, True, []
    running.url = f"http://127.0.0.1:{running.server_address[1]}/file"
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def fetch(server: Any, path: Path, **options: Any) -> Path:
    return download(server.url, path, **{"checksum": CHECKSUM, "show_progress": False, **options})


def test_a_file_comes_whole_and_once(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    assert fetch(server, path) == path
    assert path.read_bytes() == CONTENT
    fetch(server, path)
    assert server.asked == [None]
    assert os.listdir(path.parent) == ["file"]


def test_a_broken_connection_is_resumed(server: Any, tmp_path: Path) -> None:
    server.breaks = 2
    assert fetch(server, tmp_path / "file").read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={len(CONTENT) // 2}-", f"bytes={len(CONTENT) * 3 // 4}-"]


def test_the_next_call_goes_on(server: Any, tmp_path: Path) -> None:
    server.breaks = 1
    with pytest.raises(DownloadError, match=f"broke.*{len(CONTENT) // 2} bytes that came are kept"):
        fetch(server, tmp_path / "file", attempts=1)
    assert not (tmp_path / "file").exists()
    fetch(server, tmp_path / "file")
    assert server.asked[-1] == f"bytes={len(CONTENT) // 2}-"


def test_a_server_without_ranges_starts_over(server: Any, tmp_path: Path) -> None:
    server.breaks, server.ranges = 1, False
    assert fetch(server, tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("left", [b"of an older file", CONTENT, CONTENT + b"more", b""])
def test_what_lies_there_half_is_never_trusted(server: Any, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "file.partial").write_bytes(left)
    assert fetch(server, tmp_path / "file").read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["file"]


def test_more_than_the_server_has_is_not_taken_for_the_file(server: Any, tmp_path: Path) -> None:
    (tmp_path / "file.partial").write_bytes(CONTENT + b"more")
    assert fetch(server, tmp_path / "file", checksum=None).read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_no_file(server: Any, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"has the checksum md5:.*{len(CONTENT)} bytes.*not md5:00"):
        fetch(server, tmp_path / "file", checksum="md5:00")
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(DownloadError, match="remove it to download it anew"):
        fetch(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"mine"
    with pytest.raises(ValueError, match="a checksum is like"):
        fetch(server, tmp_path / "file", checksum="abc")


def test_the_server_refuses(server: Any, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="the server answers 404 Not Found"):
        download(f"{server.url}s", tmp_path / "file")
    assert os.listdir(tmp_path) == []


def test_no_network(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"cannot be reached.*put the file at .*file"):
        download("http://127.0.0.1:9/file", tmp_path / "file")
    with pytest.raises(ValueError, match="http and https, not 'file:"):
        download("file:///etc/hostname", tmp_path / "file")


def test_progress_is_shown(server: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch(server, tmp_path / "file", show_progress=True)
    shown = capsys.readouterr()
    assert "100%" in shown.err
    assert shown.out == ""
