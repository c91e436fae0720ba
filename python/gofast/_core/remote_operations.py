"""What Go does with files on servers."""

from __future__ import annotations

import os
from typing import TypedDict

from . import engine
from .operation import Call, Nothing, Task


class S3Access(TypedDict, total=False):
    """How a bucket is reached; see remote.S3."""

    key: str
    secret: str
    token: str
    region: str
    endpoint: str


class RemoteFile(TypedDict):
    """A file on a server; see remote.File."""

    url: str
    proxy: str
    s3: S3Access


class RemoteState(TypedDict):
    """As long as its server says the same of it, it is the same; see remote.State."""

    size: int
    tag: str
    modified: str
    whole: bool
    told: str


class FetchedFile(TypedDict):
    """Where a file lies in memory; see remote.Fetched."""

    at: int
    bytes: int


class FetchedFiles(TypedDict):
    """Files in memory. Whoever gets them owns the descriptor."""

    fd: int
    files: list[FetchedFile]


class RemoteTarget(TypedDict):
    """A file or a part of it, and where that is to lie; see remote.Target."""

    file: RemoteFile
    state: RemoteState
    begin: int
    end: int
    part: str
    path: str
    read: bool


class RemoteListing(TypedDict):
    """A bucket, and what its keys begin with; see remote.Listing."""

    file: RemoteFile
    flat: bool


class RemoteObject(TypedDict):
    """One of a bucket's; see remote.Object."""

    key: str
    size: int
    tag: str


class RemoteFolder(TypedDict):
    """Objects below a URL, and the folder where they are to lie; see remote.Folder."""

    file: RemoteFile
    folder: str
    objects: list[RemoteObject]


class RemoteUpload(TypedDict):
    """A file, which object it becomes, and what that says of itself; see remote.Upload."""

    file: RemoteFile
    path: str
    told: str


probe: Task[list[RemoteFile], list[RemoteState]] = Task("probe")
fetch: Task[list[RemoteFile], FetchedFiles] = Task("fetch")
download: Task[list[RemoteTarget], None] = Task("download")
list_bucket: Task[RemoteListing, list[RemoteObject]] = Task("list")
download_folder: Task[RemoteFolder, None] = Task("folder")
upload: Task[RemoteUpload, None] = Task("upload")
close_idle: Call[Nothing, None] = Call("close_idle")


def _before_fork() -> None:
    if engine.is_loaded():  # a child would keep its connections open, which it cannot use
        close_idle({})


os.register_at_fork(before=_before_fork)
