"""A bucket of S3 on this machine: listings, ranges, uploads in parts. A real server's answers are moto's."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.server
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

from served import running, serving


class Stored(NamedTuple):
    """An object."""

    content: bytes
    tag: str
    told: str = ""  # x-amz-meta-gofast


class Bucket:
    """The bucket ``bkt``. `asked` counts requests by method and what they are for."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.asked, self.connections = Counter[str](), 0
        self.page = 1000
        self.spoil: Callable[[_Request, str], bool] | None = None
        self.lock = threading.Lock()

    def put(self, key: str, content: bytes) -> None:
        self.objects[key] = Stored(content, f'"{hashlib.md5(content).hexdigest()}"')

    def listing(self, query: dict[str, str]) -> str:
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        assert query["encoding-type"] == "url"
        keys = [key for key in sorted(self.objects) if key.startswith(prefix) and key > after]
        if query.get("delimiter"):
            keys = [key for key in keys if "/" not in key[len(prefix) :]]
        here = keys[: self.page]
        more = len(here) < len(keys)
        made = "".join(
            f"<Contents><Key>{quote(key)}</Key><Size>{len(self.objects[key].content)}</Size>"
            f"<ETag>{escape(self.objects[key].tag, {chr(34): '&quot;'})}</ETag></Contents>"
            for key in here
        )
        token = f"<NextContinuationToken>{escape(here[-1] if here else '')}</NextContinuationToken>" * more
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>{token}{made}</ListBucketResult>"
        )


class _Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def setup(self) -> None:
        super().setup()
        with self.bucket.lock:
            self.bucket.connections += 1

    def handle_any(self) -> None:
        asked = urlsplit(self.path)
        self.query = {name: one[0] for name, one in parse_qs(asked.query, keep_blank_values=True).items()}
        name, _, key = unquote(asked.path)[1:].partition("/")
        self.body = body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        what = "list" if "list-type" in self.query else "part" if "partNumber" in self.query else "object"
        with self.bucket.lock:
            self.bucket.asked[f"{self.command} {what}"] += 1
        if self.bucket.spoil is not None and self.bucket.spoil(self, key):
            return
        if name != "bkt":
            self.say(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        elif what == "list":
            self.say(200, self.bucket.listing(self.query).encode())
        elif self.command == "GET":
            self.get(key)
        else:
            self.write(key, body)

    do_GET = do_PUT = do_POST = do_DELETE = handle_any

    def get(self, key: str) -> None:
        there = self.bucket.objects.get(key)
        if there is None:
            self.say(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        if self.headers.get("If-Match", there.tag) != there.tag:
            self.say(412)
            return
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        head = {"ETag": there.tag, **({"x-amz-meta-gofast": there.told} if there.told else {})}
        if found and there.content:
            body = there.content[int(found[1]) : int(found[2]) + 1]
            last = int(found[1]) + len(body) - 1
            self.say(206, body, **head, **{"Content-Range": f"bytes {found[1]}-{last}/{len(there.content)}"})
        elif found:
            self.say(416, **head, **{"Content-Range": "bytes */0"})
        else:
            self.say(200, there.content, **head)

    def write(self, key: str, body: bytes) -> None:
        bucket, told = self.bucket, self.headers.get("x-amz-meta-gofast", "")
        sum = self.headers.get("Content-MD5")
        if sum and base64.b64decode(sum) != hashlib.md5(body).digest():
            self.say(400, b"<Error><Code>BadDigest</Code></Error>")
        elif "uploads" in self.query:
            id = f"id{len(bucket.parts)}"
            bucket.parts[id], bucket.parts[id + "told"] = {}, {0: told.encode()}
            self.say(
                200,
                f"<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        elif "partNumber" in self.query:
            bucket.parts[self.query["uploadId"]][int(self.query["partNumber"])] = body
            self.say(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
        elif self.command == "DELETE":
            del bucket.parts[self.query["uploadId"]]
            self.say(204)
        elif self.headers.get("If-None-Match") == "*" and key in bucket.objects:
            self.say(412)
        elif "uploadId" in self.query:
            parts = bucket.parts.pop(self.query["uploadId"])
            named = re.findall(
                r"<PartNumber>(\d+)</PartNumber><ETag>&quot;(\w+)&quot;</ETag>|<PartNumber>(\d+)</PartNumber><ETag>&#34;(\w+)&#34;</ETag>",
                body.decode(),
            )
            assert [int(a or b) for a, _, b, _ in named] == sorted(parts), body
            sums = b"".join(hashlib.md5(parts[i]).digest() for i in sorted(parts))
            tag = f'"{hashlib.md5(sums).hexdigest()}-{len(parts)}"'
            told = bucket.parts.pop(self.query["uploadId"] + "told")[0].decode()
            bucket.objects[key] = Stored(b"".join(parts[i] for i in sorted(parts)), tag, told)
            self.say(
                200,
                f"<CompleteMultipartUploadResult><ETag>{escape(tag)}</ETag></CompleteMultipartUploadResult>".encode(),
            )
        else:
            tag = f'"{hashlib.md5(body).hexdigest()}"'
            bucket.objects[key] = Stored(body, tag, told)
            self.say(200, ETag=tag)

    def say(self, status: int, body: bytes = b"", **head: str) -> None:
        self.send_response(status)
        for name, value in head.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """One, which the environment names while the block runs."""
    made = Bucket()
    handler = type("Handler", (_Request,), {"bucket": made})
    with running(handler) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url.rstrip("/"))
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "testing")
        yield made


@contextlib.contextmanager
def copied(folder: Path, scheme: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a copy of a folder: of "http", "s3", or "memory", which is fsspec's."""
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    if scheme == "memory":
        memory = pytest.importorskip("fsspec").filesystem("memory")
        for name, path in files.items():
            memory.pipe(f"/gofast copies/here/{name}", path.read_bytes())
        yield "memory://gofast copies/here"
        memory.rm("/gofast copies", recursive=True)
    elif scheme == "s3":
        with bucket(monkeypatch) as store:
            for name, path in files.items():
                store.put(f"a b/here/{name}", path.read_bytes())
            yield "s3://bkt/a b/here"
    else:
        with serving() as web:
            web.put(**{quote(path.name): path.read_bytes() for path in files.values()})
            yield web.url + "a%20b/here"
