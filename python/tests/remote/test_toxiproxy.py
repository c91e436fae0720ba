"""A bad network before a bucket of a real server: the same bytes in bounded time, or a typed error."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gofast import errors
from gofast._core.remote_files import Downloads, local_files
from test_s3 import alone as alone
from test_s3 import server as server

SIZE = 3 << 20


class Network:
    """What lies between: toxics of toxiproxy, which its API takes."""

    def __init__(self, port: int, upstream: str) -> None:
        self.port = port
        made = self.ask("POST", "/proxies", name="s3", listen="127.0.0.1:0", upstream=upstream)
        self.url = f"http://{made['listen']}"

    def ask(self, method: str, path: str, **content: Any) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.request(method, path, json.dumps(content))
            answer = connection.getresponse()
            said = answer.read()
            assert answer.status < 300, said
            return json.loads(said) if said else None

    def add(self, kind: str, toxicity: float = 1, **attributes: int) -> None:
        """What happens to the server's answers from now on, on new connections too."""
        self.ask("POST", "/proxies/s3/toxics", type=kind, toxicity=toxicity, attributes=attributes)

    def mend(self) -> None:
        self.ask("POST", "/reset")


@pytest.fixture
def network(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    program = os.environ.get("GOFAST_TOXIPROXY")
    if not program:
        pytest.skip("GOFAST_TOXIPROXY names toxiproxy: make test-integrations builds it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    child = subprocess.Popen([program, "-host", "127.0.0.1", "-port", str(port)], stdout=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert time.monotonic() < ends and child.poll() is None
            time.sleep(0.05)
        made = Network(port, os.environ["AWS_ENDPOINT_URL"].removeprefix("http://"))
        monkeypatch.setenv("AWS_ENDPOINT_URL", made.url)
        yield made
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def content(server: Any) -> bytes:
    made = random.Random(1).randbytes(SIZE)
    server.put_object(Bucket="bkt", Key="a.bin", Body=made)
    return made


def fetched() -> bytes:
    return Path(local_files("s3://bkt/a.bin")).read_bytes()


@pytest.mark.parametrize(
    ("kind", "attributes", "least", "most"),
    [
        ("latency", {"latency": 150, "jitter": 100}, 0.1, 10),
        ("bandwidth", {"rate": 2048}, 1, 10),  # kB/s
        ("slicer", {"average_size": 4000, "size_variation": 3000, "delay": 100}, 0, 20),
    ],
)
def test_a_slow_network_brings_the_same_bytes(
    kind: str, attributes: dict[str, int], least: float, most: float, network: Network, content: bytes
) -> None:
    network.add(kind, **attributes)
    began = time.monotonic()
    assert fetched() == content
    assert least < time.monotonic() - began < most


@pytest.mark.parametrize(
    ("kind", "attributes", "toxicity"),
    [
        ("timeout", {"timeout": 100}, 0.4),
        ("reset_peer", {"timeout": 20}, 0.4),
        ("limit_data", {"bytes": 700_000}, 1),
    ],
)
def test_connections_that_end(
    kind: str, attributes: dict[str, int], toxicity: float, network: Network, content: bytes
) -> None:
    """Some of them, or each on its way: it goes on from the byte reached."""
    network.add(kind, toxicity, **attributes)
    assert fetched() == content


def test_all_connections_end(network: Network, content: bytes, alone: Path) -> None:
    network.add("reset_peer", timeout=20)
    began = time.monotonic()
    with pytest.raises(errors.ReadError, match=r"a\.bin.* 8 times"):
        fetched()
    assert time.monotonic() - began < 60
    assert not [*(alone / "kept").glob("*a.bin*")]
    network.mend()
    assert fetched() == content


def test_a_network_that_mends_itself_is_no_error(network: Network, content: bytes) -> None:
    network.add("reset_peer", timeout=0)
    downloads = Downloads(["s3://bkt/a.bin"])
    time.sleep(0.5)
    network.mend()
    assert Path(downloads.result()[0]).read_bytes() == content
