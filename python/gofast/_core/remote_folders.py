"""Folders behind URLs: a folder of this host with the same files, one entry of the cache of downloads.

A bucket's listing decides what is in it: its digest is the folder's name, so any change makes another one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import shutil
import time
from collections.abc import Sequence

from .. import errors
from .atomic_files import locked_now, writing
from .download_cache import FOLDER_SIZE, WAIT, DownloadBudget, DownloadCache, file_name
from .progress import Progress
from .remote_access import fsspec_of, normal, remote_file
from .remote_listings import Known, bucket_objects, look
from .remote_operations import RemoteObject, download_folder
from .shown_urls import shown
from .signals import deferred
from .units import many

_S3 = "s3://"  # whose server the core asks; any other is fsspec's
_TOGETHER = 256  # files that fsspec is asked for at a time
_SMALL = 1 << 20  # bytes at most in the mean: of larger ones, other lists may use the same


def local_folder(url: str, ends: str | Sequence[str] | None = None) -> str:
    """A folder with the files below a URL, for all processes of this host, which stays until this one ends.

    Args:
        ends: takes only names that end in one of these, in any case; their folders are all there.

    Raises:
        OptionError: HTTP, which has no listings.
        NotFoundError: there is no file.
        LimitError: the budget is too small, for all or beside what is in use.
        UnsupportedError: a key is not the name of a file, or nobody knows the scheme.
        ReadError, ChangedError: as of `Downloads.result`.
    """
    url = normal(url).rstrip("/") + "/"
    if url.startswith("http"):
        raise errors.OptionError(f"{shown(url)}: no server of HTTP lists a folder: give a list of URLs")
    there = _below(url) if url.startswith(_S3) else _below_fsspec(url)
    if not there:
        raise errors.NotFoundError(f"{shown(url)}: no such folder: there is no file below it").at(
            path=shown(url)
        )
    every = None if ends is None else (ends,) if isinstance(ends, str) else tuple(ends)
    wanted = [each for each in there if not each["key"].endswith("/")]
    wanted = [each for each in wanted if every is None or each["key"].lower().endswith(every)]
    return _kept(url, _folders(url, there, {each["key"] for each in wanted}), wanted)


def small_objects(known: Known) -> dict[str, str]:
    """Many small objects of one bucket as one download: the files by their URLs, as of `local_folder`.

    It is none, and there are no files, if these are others.
    Claims of files one by one take the square of their number: 130 s of 100,000.
    """
    url = "/".join(min(known).split("/", 3)[:3]) + "/"
    if not url.startswith(_S3) or not all(each.startswith(url) for each in known):
        return {}
    look(known)
    states = {each: state for each, state in known.items() if state and state["tag"]}
    small = sum(state["size"] for state in states.values()) < _SMALL * len(known)
    if not small or len(states) < len(known):
        return {}
    wanted: list[RemoteObject] = [
        {"key": each[len(url) :], "size": state["size"], "tag": state["tag"]}
        for each, state in states.items()
    ]
    folder = _kept(url, _folders(url, wanted, {each["key"] for each in wanted}), wanted)
    return {each: os.path.join(folder, each[len(url) :]) for each in states}


def _kept(url: str, folders: Sequence[str], wanted: list[RemoteObject]) -> str:
    """A folder with objects below a URL, which is claimed until this process ends."""
    cache = DownloadCache(DownloadBudget.of())
    cache.check(
        url,
        sum(each["size"] for each in wanted),
        ", or make shards of it, which come and go one by one: gofast shard",
    )
    name = file_name(url, *folders, *([*each.values()] for each in wanted))
    path = cache.path(name)
    inside = name[33:].strip(".") or "files"
    part = path + ".part"
    with contextlib.ExitStack() as claim:
        cache.claimed(name, claim, lasts=True)
        while not os.path.isdir(path):
            with contextlib.ExitStack() as lock:
                with deferred():  # else there could be a lock of which nobody knows
                    if (fd := _locked(part)) is not None:
                        lock.callback(os.close, fd)
                        lock.callback(fcntl.flock, fd, fcntl.LOCK_UN)  # a fork of another thread has it, too
                if fd is None:
                    time.sleep(WAIT)
                    continue
                with writing(part):
                    if os.path.isdir(path):  # meanwhile: the part is an empty one, made behind it
                        shutil.rmtree(part, ignore_errors=True)  # or whoever has just looked does it
                        break
                    _fill(url, os.path.join(part, inside), folders, wanted, cache, fd)
                    os.rename(part, path)
        claim.pop_all()
    return os.path.join(path, inside)


def _locked(part: str) -> int | None:
    """A descriptor of its size that nobody else has; None: somebody fills it, or it has just got its name."""
    with writing(part):
        try:
            os.makedirs(part, mode=0o700, exist_ok=True)
            return locked_now(os.path.join(part, FOLDER_SIZE))
        except FileNotFoundError:
            return None


def _fill(
    url: str,
    folder: str,
    folders: Sequence[str],
    wanted: list[RemoteObject],
    cache: DownloadCache,
    fd: int,
) -> None:
    """Downloads what is not there yet: an earlier process may have ended on the way."""
    for inner in folders:
        os.makedirs(os.path.join(folder, inner), exist_ok=True)
    missing = [each for each in wanted if not os.path.isfile(os.path.join(folder, each["key"]))]
    needed = sum(each["size"] for each in missing)

    def allocate(fd: int, size: int) -> OSError | None:
        os.ftruncate(fd, size)
        disk = os.statvfs(folder)
        full = needed > disk.f_bavail * disk.f_frsize
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) if full else None

    cache.reserve([(url, fd, sum(each["size"] for each in wanted))], allocate=allocate)
    label = f"downloading {many(len(missing), 'file')}"
    if url.startswith(_S3):
        download_folder({"file": remote_file(url), "folder": folder, "objects": missing}, label)
        return
    with fsspec_of(url) as (system, path), Progress(label) as bar:
        for first in range(0, len(missing), _TOGETHER):
            now = missing[first : first + _TOGETHER]
            places = [os.path.join(folder, each["key"]) for each in now]
            system.get(
                [f"{path.rstrip('/')}/{each['key']}" for each in now], [f"{place}.part" for place in places]
            )
            for each, place in zip(now, places, strict=True):
                came = os.path.getsize(f"{place}.part")
                if came != each["size"]:
                    said = f"{shown(url)}{each['key']}: {came} bytes came, and it had {each['size']}"
                    raise errors.ChangedError(said).at(path=shown(url) + each["key"])
            os.sync()  # a loss of power must not leave files of zeros with their names
            for place in places:
                os.rename(f"{place}.part", place)
            bar.update((first + len(now)) / len(missing))


def _below(url: str) -> list[RemoteObject]:
    prefix = url[5:].partition("/")[2]
    found = bucket_objects(url)
    made: list[RemoteObject] = [{**each, "key": each["key"][len(prefix) :]} for each in found]
    return [each for each in made if each["key"]]


def _below_fsspec(url: str) -> list[RemoteObject]:
    with fsspec_of(url) as (system, path):
        begin = path.rstrip("/") + "/"
        found = sorted(system.find(path, withdirs=True, detail=True).items())
        return [
            {
                "key": name.removeprefix(begin) + "/" * (info["type"] == "directory"),
                "size": info["size"] or 0,
                "tag": str(info),
            }
            for name, info in found
            if name.startswith(begin) and name != begin
        ]


def _folders(url: str, there: list[RemoteObject], wanted: set[str]) -> list[str]:
    """The folders that the keys stand in, for a disk.

    Raises:
        UnsupportedError: a key is not the name of a file of a folder, or another's download is called so.
    """
    keys = [each["key"] for each in there]
    found = dict.fromkeys(key.rpartition("/")[0] for key in keys)
    for folder in [*found]:
        found.update(dict.fromkeys(itertools.accumulate(folder.split("/"), "{}/{}".format)))
    for key in keys:
        parts = key.removesuffix("/").split("/")
        wrong = any(part in ("", ".", "..") or "\0" in part or len(os.fsencode(part)) > 250 for part in parts)
        taken = key.endswith(".part") and key in wanted and key[:-5] in wanted
        if wrong or taken or key in found:
            said = "is a folder and a file" if key in found else "is not the name of a file"
            said = "is what another's download is called" if taken else said
            raise errors.UnsupportedError(f"{shown(url)}: the key {key!r:.90} {said} on a disk").at(
                path=shown(url)
            )
    return sorted(found)
