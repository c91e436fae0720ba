"""Patterns of URLs like the shell's: what a bucket of S3, or the user's own fsspec, lists."""

from __future__ import annotations

import functools
import glob
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from .. import errors
from .braces import is_meant
from .remote_access import fsspec_of, normal, remote_file, remote_files
from .remote_operations import RemoteObject, RemoteState, list_bucket, probe
from .shown_urls import shown
from .units import many

Known = dict[str, RemoteState | None]


def url_files(url: str) -> Known:
    """The URL, or those that match it, sorted by path as local ones are; and what a listing says of them.

    Raises:
        OptionError: a pattern of HTTP, which has no listings.
        NotFoundError: there is no such bucket, or no file matches.
        ReadError, LimitError, ChangedError: the listing cannot be read.
        UnsupportedError: nobody knows the scheme.
    """
    url = normal(url)
    if url.startswith("http") and "*" in url.partition("?")[0]:
        raise errors.OptionError(
            f"{shown(url)}: no server of HTTP lists its files: give braces, or a list of URLs"
        )
    if url.startswith("http") or not glob.has_magic(url):
        return {url: None}
    listed = _of_bucket(url) if url.startswith("s3://") else _of_fsspec(url)
    found = {each: state for each, state in listed.items() if is_meant(each, url)}
    if not found:
        raise errors.NotFoundError(f"{shown(url)}: no file matches the pattern").at(path=shown(url))
    return found


def look(known: Known) -> None:
    """Asks the servers for what no listing has said.

    Raises:
        GofastError: as of servers.
    """
    asked = [url for url, state in known.items() if state is None]
    if asked:
        found = probe(remote_files(asked), f"looking at {many(len(asked), 'file')}")
        known.update(zip(asked, found, strict=True))


def bucket_objects(url: str, flat: bool = False) -> list[RemoteObject]:
    """The objects whose URLs begin so, sorted by key as paths are; `flat`: without further slashes."""
    objects = list_bucket({"file": remote_file(url), "flat": flat}, f"listing {shown(url)}")
    return sorted(objects, key=lambda each: each["key"])


def state_of(found: RemoteObject) -> RemoteState | None:
    """What a listing says of an object; None: too little."""
    if not found["tag"]:
        return None
    return {"size": found["size"], "tag": found["tag"], "modified": "", "whole": False, "told": ""}


def _of_bucket(url: str) -> Known:
    bucket, _, pattern = url[5:].partition("/")
    start = re.split(r"[*?[]", pattern)[0]
    flat = not {"/", "**"} & {*re.findall("/|[*]+", pattern[len(start) :])}
    objects = bucket_objects(f"s3://{bucket}/{start}", flat)
    there = [each for each in objects if each["key"] == pattern]  # a name may look like a pattern
    parts = pattern.split("/")
    found = there or [each for each in objects if _fits(parts, each["key"].split("/"))]
    return {f"s3://{bucket}/{each['key']}": state_of(each) for each in found}


def _of_fsspec(url: str) -> Known:
    with fsspec_of(url) as (system, path):
        if system.exists(path):
            return {url: None}
        parts = path.split("/")
        found = system.glob(path, detail=True).items()
        names = sorted(
            name for name, info in found if info["type"] == "file" and _fits(parts, name.split("/"))
        )
        before = url.removesuffix(path)  # with the host, where the path has none
        return {before + name if before != url else system.unstrip_protocol(name): None for name in names}


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a path is one that glob would give for a pattern, each without its slashes."""

    @functools.cache  # several "**" would come to the same rests again and again
    def fits(p: int, n: int) -> bool:
        if p == len(parts) or n == len(names):
            return p == len(parts) and n == len(names)
        name, part = names[n], parts[p]
        if part == "**":
            inside = name != "" and name[0] != "." and (fits(p, n + 1) or fits(p + 1, n + 1))
            return inside or fits(p + 1, n)
        if (
            not fnmatchcase(name, part)
            or (part and not name)
            or (name.startswith(".") and not part.startswith("."))
        ):
            return False
        return fits(p + 1, n + 1)

    return fits(0, 0)
