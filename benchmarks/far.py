"""Shards behind a server that is some milliseconds away, against what else brings or reads the same bytes.

    python -m benchmarks.far [--only download-20ms,epoch-50ms,first-batch-20ms,tar-index] [--rounds 3]

How sides take turns is said in turns.py. The server is a process on this machine: a connection and each
request wait for the latency of the case's name, and all answers together have 1 GB/s.
download: 400 MB in 8 shards. epoch: shards of the photographs of $GOFAST_TEST_DATA/imagenet-500, 4 times,
decoded for RandomResizedCrop(224); the cache is empty at the start of each epoch. first-batch: 64 samples of
1,000 shards of 20 pictures of 32 x 32, shuffled. "indexes" is ImageFiles.from_tar with the indexes that
`gofast shard` writes beside shards: opened, and shuffled as a whole; the other sides read a stream.
tar-index: 1,000,000 members in 100 files: see the column of the first epoch, in which nothing is kept; its
unit is processor seconds, without those of `import`.
"""

from __future__ import annotations

import http.client
import http.server
import io
import os
import re
import shutil
import socketserver
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import turns
from benchmarks.environments import MADE

BANDWIDTH = 1e9
SHARDS, SHARD = 8, 50_000_000
SMALL, SMALL_SAMPLES = 1000, 20
INDEXED, MEMBERS = 100, 10_000
DOWNLOADS = ("16 threads", "gofast")
EPOCHS = ("gofast, from disk", "gofast, webdataset's names", "gofast, indexes")
FIRSTS = ("webdataset", "gofast", "gofast, indexes")
CASES = {
    "download-20ms": DOWNLOADS,
    "download-50ms": DOWNLOADS,
    "epoch-20ms": EPOCHS,
    "epoch-50ms": EPOCHS,
    "first-batch-20ms": FIRSTS,
    "first-batch-50ms": FIRSTS,
    "tar-index": ("tarfile", "gofast"),
}


# -- the server -------------------------------------------------------------------


class _Far(http.server.BaseHTTPRequestHandler):
    """Files of a folder, whole or a range of them."""

    protocol_version, wbufsize = "HTTP/1.1", 1 << 16
    folder, latency = "", 0.0
    lock, free = threading.Lock(), 0.0  # when the line is

    def setup(self) -> None:
        time.sleep(self.latency)  # of the handshake
        super().setup()

    def do_GET(self) -> None:
        time.sleep(self.latency)
        with open(os.path.join(self.folder, self.path.lstrip("/")), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            part = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            first, end = (int(part[1]), min(int(part[2]) + 1, size)) if part else (0, size)
            self.send_response(206 if part else 200)
            if part:
                self.send_header("Content-Range", f"bytes {first}-{end - 1}/{size}")
            self.send_header("ETag", f'"{self.path}-{size}"')
            self.send_header("Content-Length", str(end - first))
            self.end_headers()
            self.wfile.flush()
            for at in range(first, end, 1 << 18):
                count = min(1 << 18, end - at)
                with _Far.lock:
                    begin = max(time.perf_counter(), _Far.free)
                    _Far.free = begin + count / BANDWIDTH
                if (early := begin - time.perf_counter()) > 0.001:
                    time.sleep(early)
                while count:
                    sent = os.sendfile(self.connection.fileno(), file.fileno(), at, count)
                    at, count = at + sent, count - sent

    def log_message(self, *_: object) -> None:
        pass


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 64

    def handle_error(self, *_: Any) -> None:  # a client went
        pass


def serve(folder: str, latency: str) -> None:
    """Serves a folder until standard input ends; writes the address."""
    _Far.folder, _Far.latency = folder, float(latency) / 1000
    server = _Server(("127.0.0.1", 0), _Far)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    sys.stdin.read()


def served(folder: Path, latency: str) -> str:
    """A server in a process of its own, until this one ends."""
    command = [sys.executable, "-m", "benchmarks.far", "--serve", str(folder), latency]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    served.kept = child  # type: ignore[attr-defined]  # whose standard input ends with this process
    return child.stdout.readline().strip()


# -- what is measured -------------------------------------------------------------


def repeated(once: Callable[[str], float], times: int) -> list[float]:
    """The seconds of each, in a new folder."""
    took = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(dir=MADE) as folder:
            took.append(once(folder))
    return took


own = threading.local()


def plain(url: str, first: int, folder: str) -> None:
    """8 MiB of a file, over the thread's own connection, which is used again."""
    where = urlsplit(url)
    if getattr(own, "place", None) != where.netloc:
        own.place, own.line = where.netloc, http.client.HTTPConnection(where.netloc)
    end = min(first + (8 << 20), SHARD)
    own.line.request("GET", where.path, headers={"Range": f"bytes={first}-{end - 1}"})
    answer, room = own.line.getresponse(), memoryview(bytearray(1 << 18))
    fd = os.open(os.path.join(folder, os.path.basename(url)), os.O_WRONLY | os.O_CREAT)
    while first < end:
        count = answer.readinto(room)
        first += os.pwrite(fd, room[:count], first)
    os.close(fd)


def download(urls: list[str], side: str, folder: str) -> float:
    """All of the shards to the disk."""
    begun = time.perf_counter()
    if side == "gofast":
        from gofast._core.download_cache import DownloadBudget
        from gofast._core.remote_files import Downloads

        Downloads(urls, DownloadBudget(folder, 10**12)).result()
    else:
        with ThreadPoolExecutor(16) as pool:
            asked = [(url, at) for url in urls for at in range(0, SHARD, 8 << 20)]
            list(pool.map(lambda one: plain(one[0], one[1], folder), asked))
    return time.perf_counter() - begun


def indexed(urls: list[str], folder: str, change: Any) -> Any:
    """A loader of shards with indexes."""
    import gofast

    os.environ["GOFAST_DOWNLOADS"] = folder
    data = gofast.ImageFiles.from_tar(urls, transform=change)
    return gofast.DataLoader(data, batch_size=64, shuffle=True)


def epoch(urls: list[str], side: str, folder: str) -> float:
    """An epoch of the photographs."""
    from torchvision import transforms as T

    import gofast.webdataset as wds

    change = T.Compose(
        [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]
    )
    if side == "gofast, indexes":
        begun = time.perf_counter()
        for _ in indexed(urls, folder, change):
            pass
        return time.perf_counter() - begun
    data = wds.WebDataset(urls, shardshuffle=False, cache_dir=folder).decode("pil").to_tuple("jpg", "cls")
    begun = time.perf_counter()
    for _ in wds.WebLoader(data.map_tuple(change).batched(64), batch_size=None):
        pass
    return time.perf_counter() - begun


def first_batch(urls: list[str], side: str, folder: str) -> float:
    """A batch of the dataset's pictures, which only indexes decode."""
    if side == "gofast, indexes":
        from torchvision.transforms import Compose, Resize, ToTensor

        begun = time.perf_counter()
        next(iter(indexed(urls, folder, Compose([Resize((32, 32)), ToTensor()]))))
        return time.perf_counter() - begun
    if side == "gofast":
        import gofast.webdataset as wds

        data = wds.WebDataset(urls, shardshuffle=100, cache_dir=folder)
    else:
        import webdataset as wds  # type: ignore[no-redef, import-not-found, unused-ignore]

        data = wds.WebDataset(urls, shardshuffle=100)
    begun = time.perf_counter()
    next(iter(data.shuffle(1000).to_tuple("jpg", "cls").batched(64)))
    return time.perf_counter() - begun


def index(paths: list[str], side: str, kept: str) -> float:
    """Where the members are, in processor seconds. It is not read from the index that is kept."""
    if side == "gofast":
        from gofast._core.tfrecord_index import TFRecordIndex
    begun = time.process_time()
    if side == "gofast":
        assert TFRecordIndex.of_tar(paths, ["bin", "cls"], "", False).count == len(paths) * MEMBERS // 2
    else:
        for path in paths:
            with tarfile.open(path) as tar:
                assert len([(each.name, each.offset_data, each.size) for each in tar]) == MEMBERS
    return time.process_time() - begun


# -- all of them ------------------------------------------------------------------


def write(path: Path, samples: Iterator[dict[str, bytes]]) -> None:
    """A shard."""
    with tarfile.open(path, "w") as tar:
        for i, sample in enumerate(samples):
            for suffix, content in sample.items():
                member = tarfile.TarInfo(f"{i:06}.{suffix}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def shards(case: str) -> list[str]:
    """The names of a case's shards, in a folder of its kind."""
    kind = case.partition("-")[0]
    folder = MADE / f"far-{kind}-shards"
    if not folder.exists():
        made = folder.with_suffix(".part")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        if kind == "download":
            for i in range(SHARDS):
                (made / f"{i:04}.tar").write_bytes(os.urandom(SHARD))
        elif kind == "epoch":
            files = sorted(Path(turns.photographs()).glob("*/*"))
            for i in range(8):
                some = [*files[i::8]] * 4
                write(made / f"{i:04}.tar", ({"jpg": each.read_bytes(), "cls": b"1"} for each in some))
        else:
            count, samples = (INDEXED, MEMBERS // 2) if kind == "tar" else (SMALL, SMALL_SAMPLES)
            name, content = ("bin", b"x" * 99) if kind == "tar" else ("jpg", small_picture())
            for i in range(count):
                write(made / f"{i:04}.tar", ({name: content, "cls": b"%d" % k} for k in range(samples)))
        if kind in ("epoch", "first"):
            from gofast._core.braces import index_name
            from gofast._core.shard_index import write_index

            for path in sorted(made.iterdir()):
                write_index(str(path), index_name(str(path)))
        made.rename(folder)
    return sorted(str(each) for each in folder.glob("*.tar"))


def small_picture() -> bytes:
    """A JPEG of 32 x 32."""
    from PIL import Image

    Image.linear_gradient("L").resize((32, 32)).save(file := io.BytesIO(), "JPEG")
    return file.getvalue()


def child(case: str, side: str, place: str) -> list[float]:
    """The seconds of each turn of a side."""
    paths = shards(case)
    if case == "tar-index":
        return repeated(lambda folder: index(paths, side, folder), 2)
    latency = case.rpartition("-")[2].removesuffix("ms")
    address = served(Path(paths[0]).parent, latency)
    urls = [address + os.path.basename(path) for path in paths]
    if case.startswith("download"):
        return repeated(lambda folder: download(urls, side, folder), 4)
    if case.startswith("first-batch"):
        return repeated(lambda folder: first_batch(urls, side, folder), 4)
    return repeated(lambda folder: epoch(paths if "disk" in side else urls, side, folder), 3)


def make(case: str, rows: int) -> str:
    """Makes the case's shards."""
    return os.path.dirname(shards(case)[0])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        turns.main("benchmarks.far", __doc__, CASES, child, make)
