"""Files behind URLs: downloaded once for all processes of a host, and local files from there on.

The core asks servers of HTTP and S3, several at a time; any other scheme is the user's own fsspec's.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .. import errors
from .atomic_files import dropped, locked_now, writing
from .braces import braces
from .coming_file import ComingFile
from .download_cache import NO_ROOM, WAIT, DownloadBudget, DownloadCache, Span, file_name, kept_name
from .operation import Begun
from .progress import Progress
from .remote_access import NATIVE, fsspec_of, normal, remote_files
from .remote_folders import local_folder, small_objects
from .remote_listings import Known, url_files
from .remote_operations import RemoteFile, RemoteState, RemoteTarget, download, probe
from .shown_urls import is_url, shown
from .signals import deferred
from .units import many

_MANY = 1000  # objects of a bucket: more are one download, if they have
_TOGETHER = 64  # files, of which each has two descriptors


def local_files(value: Any) -> Any:
    """A path or a list of them, in which local files stand for URLs.

    These may be patterns, and have bash's braces.

    This process keeps the files from being removed, until it ends.

    Raises:
        GofastError: one cannot be downloaded.
    """
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)) or not any(map(is_url, given)):
        return value
    known: Known = {}
    spread: list[Any] = []
    for one in given:
        if not is_url(one):
            spread.append(one)
            continue
        for each in braces(one):
            if each.endswith("/") and not normal(each).startswith("http"):
                spread.append(local_folder(each))
                continue
            matching = url_files(each)
            known |= matching
            spread += matching
    made = downloaded(known) if known else {}
    found = [made.get(one, one) if isinstance(one, str) else one for one in spread]
    return found[0] if isinstance(value, str) and len(found) == 1 else found


def downloaded(known: Known) -> dict[str, str]:
    """The files of URLs, which are no patterns here; as of `local_files`."""
    if len(known) > _MANY and (together := small_objects(known)):
        return together
    downloads = Downloads(known, known=known)
    made = dict(zip(known, downloads.result(show=True), strict=True))
    downloads.keep()
    return made


class _Wanted(NamedTuple):
    """A state of a file, or a part of it."""

    url: str
    file: RemoteFile | None  # None: fsspec brings it
    state: RemoteState
    name: str
    span: Span

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.span[1] - self.span[0]


_living: weakref.WeakSet[Downloads] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for each in [*_living]:
        for _, fd in each._mine.values():
            os.close(fd)  # else its lock would outlive the parent
        each._mine, each.begun = {}, None


os.register_at_fork(after_in_child=_after_fork_in_child)


class Downloads:
    """Files that are downloaded in the background.

    Args:
        epoch: when an epoch began in which each file is read once; 0.0: nobody knows.
        read: it is one file, for `open`.
        spans: of each URL the part that is asked for, of a file whose state is known; None: all of it.

    Attributes:
        begun: what brings them now.

    Raises:
        OptionError: a URL, or what the environment says of S3, makes no sense.
    """

    def __init__(
        self,
        urls: Iterable[str],
        budget: DownloadBudget | None = None,
        epoch: float = 0.0,
        known: Known | None = None,
        read: bool = False,
        spans: Sequence[Span] | None = None,
    ) -> None:
        self._epoch, self._read = epoch, read
        self._urls = [normal(url) for url in urls]
        self._spans = [None] * len(self._urls) if spans is None else spans
        self._known = {url: state for url, state in (known or {}).items() if state}  # by a listing
        self._cache = DownloadCache(budget or DownloadBudget.of())
        native = [url for url in dict.fromkeys(self._urls) if url.startswith(NATIVE)]
        self._native = dict(zip(native, remote_files(native), strict=True))
        self._asked = [url for url in self._native if url not in self._known]
        self._probe = probe.begin([self._native[url] for url in self._asked], None) if self._asked else None
        self._wanted: list[_Wanted] | None = None
        self._left: dict[str, _Wanted] = {}  # what was not there yet, by name
        self._claimed: list[tuple[str, bool]] = []  # names, and whether ahead
        self._mine: dict[str, tuple[_Wanted, int]] = {}  # locked parts, and their descriptors
        self.begun: Begun[None] | None = None
        self._failed: errors.GofastError | None = None
        self._pid = os.getpid()
        _living.add(self)

    def start(self, wait: bool = True) -> bool:
        """Begins to download ahead, if there is room. The rest of it, and errors, wait for `result`.

        Until then the files give way where there is no room for what is needed first. Without `wait`, only
        if the servers have said what the files are.
        """
        if not (wait or self._probe is None or self._probe.part() == 1):
            return False
        try:
            native = all(one.file for one, _ in self._mine.values())
            if native and self.begun and self._failed is None and self.begun.part() == 1:
                self._finish(None)  # then the next of many begin
            self._begin(ahead=True)
        except errors.GofastError as error:
            if self._wanted is not None and isinstance(error, NO_ROOM):
                return False  # until what is in use now is released
            self._failed = error
        return True

    def result(self, show: bool = False) -> list[str]:
        """Waits for the files: their paths. They are there until `release`.

        Raises:
            NotFoundError: a server does not have the file.
            ChangedError: it has another one than when the download began.
            LimitError: the budget is too small beside what is in use.
            ReadError: it cannot be read, after several attempts; or not be written.
            UnsupportedError: nobody knows the scheme, or how long the file is.
        """
        return self._wait(show)

    def open(self, ahead: Callable[[int], bool]) -> io.RawIOBase:
        """The only file, which comes while it is read, if its server says what the file is.

        Args:
            ahead: see `ComingFile`; called once with 0 for a file that is there.

        Raises:
            GofastError: as `result`; reading may raise it, too.
        """
        path = self._wait(partly=True)[0]
        if self.begun is not None:
            with contextlib.suppress(FileNotFoundError):  # it has just got its name
                fd = os.open(path + ".part", os.O_RDONLY | os.O_CLOEXEC)
                return ComingFile(self, fd, self.size, ahead)
            path = self.result()[0]
        ahead(0)
        return io.FileIO(path)

    def finish(self) -> None:
        """Waits for what `open` began; raises as `result`."""
        with self._released_by_errors():
            self._finish(None)

    def _wait(self, show: bool = False, partly: bool = False) -> list[str]:
        """`partly`: not for what is on its way and can be read already."""
        with self._released_by_errors():
            tried = 0
            while True:
                try:
                    self._begin()
                    tried = 0
                except NO_ROOM:
                    tried = 0 if self._cache.busy() else tried + 1
                    if self._wanted is None or tried == 2:  # one may have been completed between
                        raise
                if partly and self.begun and all(_is_known(one.state) for one, _ in self._mine.values()):
                    break
                if self._mine:
                    self._finish(f"downloading {many(len(self._left), 'file')}" if show else None)
                elif any(self._missing()):
                    time.sleep(WAIT)  # another process is at it; if that ends, it is ours
                else:
                    break
            return [self._cache.path(wanted.name) for wanted in self._wanted or ()]

    @contextlib.contextmanager
    def _released_by_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            if isinstance(error, errors.GofastError):
                self._failed = error  # also for who goes on reading
            self.release()
            raise

    def arrived(self) -> bool:
        """Whether all are there, so that `result` need not wait."""
        return self._wanted is not None and not any(self._missing())

    @property
    def size(self) -> int:
        """Their bytes; 0 where the servers have not said it yet."""
        return _bytes(self._wanted or ())

    def keep(self) -> None:
        """The files stay until this process ends, and those that are forked from it."""
        for wanted in self._wanted or ():
            self._cache.claim(wanted.name, lasts=True)

    def lend(self) -> None:
        """Whoever needs room for what is read next may remove the files, until `take_back`."""
        self._claim(ahead=True)
        for used in [one for one in self._claimed if not one[1]]:
            self._claimed.remove(used)
            self._cache.release(*used)

    def take_back(self) -> bool:
        """Nobody may remove the files from now on; whether they are there."""
        self._claim(ahead=False)
        return self.arrived()

    def used(self) -> None:
        """The files were read: they go before those that the epoch has still to read."""
        for wanted in self._wanted or ():
            self._cache.used(wanted.name)

    def release(self) -> None:
        """The files are no longer used here, and what is not downloaded is not wanted."""
        with deferred():
            self.begun = None  # which stops it
            ours = self._pid == os.getpid()  # else of the process that we were forked from
            for wanted, _ in [*self._mine.values()]:
                self._drop(wanted)
            while self._claimed:
                name, ahead = self._claimed.pop()
                if ours:
                    self._cache.release(name, ahead)
            self._wanted, self._left = [], {}

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and hasattr(self, "_pid"):
            self.release()

    def _missing(self) -> Iterator[_Wanted]:
        """What is not there. Of thousands of files only the next ones are looked for."""
        for name, wanted in [*self._left.items()]:
            if os.path.isfile(self._cache.path(name)):
                del self._left[name]
            else:
                yield wanted

    def _begin(self, ahead: bool = False) -> None:
        if self._failed is not None:
            raise self._failed
        if self._wanted is None:
            probed = self._probe.result() if self._probe else ()
            states = self._known | dict(zip(self._asked, probed, strict=True))
            asked = zip(self._urls, self._spans, strict=True)
            found = [_found(url, self._native.get(url), states.get(url), span) for url, span in asked]
            self._probe = None
            self._cache.check(self._urls[0], _bytes(found))
            self._wanted, self._left = found, {wanted.name: wanted for wanted in found}
        with deferred():  # else a lock could be held, or a download go on, of which nobody knows
            self._begin_wanted(ahead)

    def _begin_wanted(self, ahead: bool) -> None:
        self._claim(ahead)
        if self.begun is not None or self._mine:
            return
        for wanted in self._missing():
            if len(self._mine) == _TOGETHER:
                break
            if ahead and wanted.file is None:
                continue  # nothing brings it in the background
            path = self._cache.path(wanted.name)
            with writing(path + ".part"):
                fd = locked_now(path + ".part")
            if fd is None:
                continue
            self._mine[wanted.name] = wanted, fd
            if os.path.isfile(path):  # meanwhile
                self._drop(wanted)
        asked = [(one.url, fd, one.size) for one, fd in self._mine.values()]
        fit = 0
        try:
            fit = self._cache.reserve(asked, ahead, self._epoch) if asked else 0
        finally:
            for wanted, _ in [*self._mine.values()][fit:]:
                self._drop(wanted)  # the rest says why itself
        native = [self._target(one, one.file) for one, _ in self._mine.values() if one.file]
        if native:
            self.begun = download.begin(native, None)

    def _claim(self, ahead: bool) -> None:
        if not any(kind == ahead for _, kind in self._claimed):
            for wanted in self._wanted or ():
                self._cache.claim(wanted.name, ahead)
                self._claimed.append((wanted.name, ahead))
            # What came ahead, or was lent, may have gone.
            self._left = {wanted.name: wanted for wanted in self._wanted or ()}

    def _drop(self, wanted: _Wanted) -> None:
        dropped(self._cache.path(wanted.name) + ".part", self._mine.pop(wanted.name)[1])

    def _target(self, wanted: _Wanted, file: RemoteFile) -> RemoteTarget:
        path = self._cache.path(wanted.name)
        return {
            "file": file,
            "state": wanted.state,
            "begin": wanted.span[0],
            "end": wanted.span[1],
            "part": path + ".part",
            "path": path,
            "read": self._read,
        }

    def _finish(self, label: str | None) -> None:
        if self.begun is not None:
            self.begun.result(label)
            self.begun = None
        others = [wanted for wanted, _ in self._mine.values() if wanted.file is None]
        with Progress(label if others else None) as bar:
            for i, wanted in enumerate(others):
                _get(wanted, self._cache.path(wanted.name))
                bar.update((i + 1) / len(others))
        if others:
            self._cache.recount()  # fsspec cuts a part to nothing first, and somebody may have counted that
        with deferred():
            while self._mine:
                os.close(self._mine.popitem()[1][1])


def _bytes(files: Iterable[_Wanted]) -> int:
    return sum({one.name: one.size for one in files}.values())


def _is_known(state: RemoteState) -> bool:
    """Whether a server would say that the file is another one by now; else it comes anew after an error."""
    return bool(state["tag"] or state["modified"])


def _found(url: str, file: RemoteFile | None, state: RemoteState | None, span: Span | None) -> _Wanted:
    if file is not None and state is not None:
        span = span or (0, state["size"])
        return _Wanted(url, file, state, kept_name(url, state, span), span)
    with fsspec_of(url) as (system, path):
        size = system.info(path)["size"]
        if size is None:
            raise errors.UnsupportedError(f"{shown(url)}: its length is not known: download it first")
        known: RemoteState = {
            "size": int(size),
            "tag": str(system.ukey(path)),
            "modified": "",
            "whole": True,
            "told": "",
        }
    return _Wanted(url, None, known, file_name(url, known["size"], known["tag"]), (0, known["size"]))


def _get(wanted: _Wanted, path: str) -> None:
    with fsspec_of(wanted.url) as (system, remote):
        system.get_file(remote, path + ".part")
    came = os.path.getsize(path + ".part")
    if came != wanted.state["size"]:
        name = shown(wanted.url)
        said = f"{name}: {came} bytes came, and it had {wanted.state['size']}"
        raise errors.ChangedError(said).at(path=name)
    with open(path + ".part", "rb") as file:
        os.fsync(file.fileno())  # a loss of power must not leave a file of zeros
    os.rename(path + ".part", path)
