"""Files behind a server of HTTP on this machine, which counts who asks, and may answer wrong."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator

Spoil = Callable[[http.server.BaseHTTPRequestHandler, int], bool]


class Served:
    """The server: `files` by name, which may change. By name, `whole` counts answers of more than a byte, and
    `sent` their bytes.

    A function `spoil` is called with each request, and the number of those for the name: whether it answered.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked, self.whole, self.sent = Counter[str](), Counter[str](), Counter[str]()
        self.spoil: Spoil | None = None
        self.lock = threading.Lock()
        self.url = ""
        self.tags = True  # whether an answer has an ETag
        self.dated = False  # whether it has a Last-Modified

    def put(self, **files: bytes) -> None:
        """Gives it files."""
        self.files |= files

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        name = request.path.rpartition("/")[2]
        with self.lock:
            self.asked[name] += 1
            number = self.asked[name]
        if self.spoil is not None and self.spoil(request, number):
            return
        content = self.files.get(name)
        if content is None:
            request.send_error(404)
            return
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        if request.headers.get("If-Match", tag) != tag:
            request.send_error(412)
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        first, last = (
            (int(found[1]), min(int(found[2]), len(content) - 1)) if found else (0, len(content) - 1)
        )
        with self.lock:
            self.whole[name] += last > first
            self.sent[name] += last + 1 - first
        request.send_response(206 if found else 200)
        if found:
            request.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
        if self.tags:
            request.send_header("ETag", tag)
        if self.dated:
            request.send_header("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
        request.send_header("Content-Length", str(last + 1 - first))
        request.end_headers()
        with contextlib.suppress(OSError):  # the client may be killed
            request.wfile.write(content[first : last + 1])


@contextlib.contextmanager
def serving() -> Iterator[Served]:
    """One, while the block runs."""
    made = Served()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            made.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as made.url:
        yield made


@contextlib.contextmanager
def running(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on the loopback, while the block runs: its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
