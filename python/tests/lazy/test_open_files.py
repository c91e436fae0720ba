"""The file of a lazy image: what Pillow would have read is what comes out, whatever became of the file."""

from __future__ import annotations

import errno
import gc
import io
import multiprocessing
import os
import random
import resource
import shutil
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import fresh
import gofast
from gofast._lazy import open_file
from gofast._lazy import open_lazy as open_lazy_module
from gofast._lazy.lazy_image import LazyImage
from gofast._lazy.open_lazy import by_pillow, open_lazy
from image_data import photograph
from in_threads import in_threads
from same import difference


def encoded(kind: str, mode: str, size: tuple[int, int], seed: int = 1, profile: int = 0) -> bytes:
    """A file of a picture, with a header of about so many bytes more."""
    out = io.BytesIO()
    more: dict[str, Any] = {"icc_profile": random.Random(seed).randbytes(profile)} if profile else {}
    photograph(seed, *size).convert(mode).save(out, kind, **more)
    return out.getvalue()


# Small ones, which Python's first read has whole; ones with much behind it; ones whose header is longer.
FILES = {
    "small JPEG": encoded("JPEG", "RGB", (30, 20)),
    "JPEG": encoded("JPEG", "RGB", (300, 260)),
    "grey JPEG": encoded("JPEG", "L", (300, 260)),
    "long header": encoded("JPEG", "RGB", (200, 160), profile=9000),
    "longer header": encoded("JPEG", "RGB", (200, 160), profile=40000),
    "CMYK": encoded("JPEG", "CMYK", (120, 90)),
    "small PNG": encoded("PNG", "RGB", (20, 12)),
    "PNG": encoded("PNG", "RGB", (120, 90)),
    "PNG, long header": encoded("PNG", "L", (120, 90), profile=9000),
    "palette": encoded("PNG", "P", (120, 90)),
    "RGBA": encoded("PNG", "RGBA", (120, 90)),
    "WebP": encoded("WEBP", "RGB", (90, 70)),
}


def _overwrite(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _written_into(path: Path, at: int, count: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(random.Random(at).randbytes(count))


def _replaced(path: Path) -> None:
    other = path.with_name("next")
    other.write_bytes(encoded("JPEG", "RGB", (30, 20), 5))
    os.replace(other, path)


# What happens between the opening and the first use.
CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "removed": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("other")),
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("moved")),
    "folder removed": lambda path: shutil.rmtree(path.parent),
    "replaced": _replaced,
    "times set": lambda path: os.utime(path, (1, 1)),
    "unreadable": lambda path: path.chmod(0),
    "linked": lambda path: os.link(path, path.with_name("link")),
    "appended": lambda path: _written_into(path, path.stat().st_size, 9000),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "the same kind": lambda path: _overwrite(path, encoded("JPEG", "RGB", (310, 250), 7)),
    "the same size": lambda path: _overwrite(path, encoded("JPEG", "RGB", (300, 260), 7)),
    "another kind": lambda path: _overwrite(path, encoded("PNG", "L", (120, 90), 7)),
    "another header": lambda path: _overwrite(path, encoded("JPEG", "L", (50, 40), 3, profile=20000)),
    "a byte of the header": lambda path: _written_into(path, 21, 1),
    "the pixels": lambda path: _written_into(path, path.stat().st_size // 2, 200),
    "other directory": lambda path: os.chdir("/"),
}


def by_descriptor(opener: Callable[[Any], Any], path: Path) -> Any:
    fd = os.open(path, os.O_RDONLY)
    try:
        return opener(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


def by_link(opener: Callable[[Any], Any], path: Path) -> Any:
    link = path.with_name("symbolic")
    link.symlink_to(path.name)
    image = opener(str(link))
    link.unlink()
    link.symlink_to("nowhere")
    return image


def relative(opener: Callable[[Any], Any], path: Path) -> Any:
    os.chdir(path.parent)
    return opener(path.name)


WAYS: dict[str, Callable[[Callable[[Any], Any], Path], Any]] = {
    "text": lambda opener, path: opener(str(path)),
    "Path": lambda opener, path: opener(path),
    "bytes": lambda opener, path: opener(os.fsencode(path)),
    "descriptor": by_descriptor,
    "link": by_link,
    "relative": relative,
    "file": lambda opener, path: opener(open(path, "rb")),  # noqa: SIM115
    "raw file": lambda opener, path: opener(open(path, "rb", buffering=0)),  # noqa: SIM115
}


def tried(do: Callable[[], Any]) -> Any:
    """What it makes, as values that can be compared, or what it raises."""
    try:
        made = do()
        if isinstance(made, Image.Image):
            return made.mode, made.size, made.tobytes(), dict(made.info), made.getpalette()
    except Exception as error:
        return type(error), str(error).split(" at 0x")[0]
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    here = os.getcwd()
    yield tmp_path
    os.chdir(here)


def outcome(
    opener: Callable[[Any], Any],
    folder: Path,
    name: str,
    way: str,
    change: str,
    uses: list[Callable[[Any], Any]],
) -> list[Any]:
    place = Path(tempfile.mkdtemp(dir=folder)) / "pictures"
    place.mkdir()
    path = place / "picture"
    path.write_bytes(FILES[name])
    image = WAYS[way](opener, path)
    assert type(image) is not LazyImage or opener is open_lazy
    CHANGES[change](path)
    return [tried(lambda use=use: use(image)) for use in uses]  # type: ignore[misc]


# What was written into the file itself: where Pillow fails, it reads that again when it is asked again.
IN_PLACE = frozenset([*CHANGES][[*CHANGES].index("appended") : [*CHANGES].index("other directory")])

TWICE: list[Callable[[Any], Any]] = [
    lambda image: image.convert("RGB"),
    lambda image: image.convert("RGB").resize((9, 8)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_what_pillow_would_read_comes_out(name: str, folder: Path) -> None:
    lazy = 0
    for change in CHANGES:
        for way in WAYS if change in ("removed", "replaced", "the same kind") else ("text", "file"):
            uses = TWICE[:1] if change in IN_PLACE else TWICE
            want = outcome(by_pillow, folder, name, way, change, uses)
            assert not difference(outcome(open_lazy, folder, name, way, change, uses), want), (change, way)
            lazy += len(want[0]) == 5
    assert lazy > 20


def _left(image: Any) -> None:
    with image:
        pass


USES: dict[str, list[Callable[[Any], Any]]] = {
    "with": [_left, lambda image: image.convert("RGB"), lambda image: image.size],
    "with, used": [lambda image: image.convert("L"), _left, lambda image: image.convert("RGB")],
    "close": [lambda image: image.close(), lambda image: image.load(), lambda image: image.size],
    "verify": [
        lambda image: image.verify(),
        lambda image: image.convert("RGB"),
        lambda image: image.verify(),
    ],
    "fp": [
        lambda image: (image.fp is None, image.fp.closed),
        lambda image: (image.fp.seek(0), image.fp.read()),
        lambda image: image.convert("RGB"),
        lambda image: image.fp,
        lambda image: hasattr(image.copy(), "fp"),
    ],
    "fp closed": [lambda image: image.fp.close(), lambda image: image.convert("RGB")],
    "tile": [lambda image: len(image.tile), lambda image: image.load()[0, 0], lambda image: image.tile],
    "draft": [
        lambda image: image.draft("L", (9, 9)),
        lambda image: image.draft("L", (9, 9)),
        lambda image: image.convert("RGB"),
    ],
    "refused": [
        lambda image: image.resize((3, 3), 99),
        lambda image: image.resize((3, 3), reducing_gap=0.5),
        lambda image: image.crop((9, 9, 3, 12)),
        lambda image: (image.fp is None, len(image.tile), image.info.get("duration")),
        lambda image: image.draft("L", (9, 9)),
        lambda image: image.convert("RGB"),
    ],
    "seek": [lambda image: image.seek(1), lambda image: image.seek(-1), lambda image: image.seek(0)],
    "words": [
        lambda image: image.no_such_name,
        lambda image: image.convert("RGB").no_such_name,
        lambda image: image.resize(),
        lambda image: image.convert("RGB") + 1,
        lambda image: str(type(image.convert("RGB"))),
        lambda image: image.convert("FOO"),
    ],
    "exif": [lambda image: dict(image.getexif()), lambda image: image.fp is None],
    "merged exif": [
        lambda image: image._getexif(),
        lambda image: image.convert("L"),
        lambda image: image._getexif(),
    ],
    "children": [lambda image: image.get_child_images(), lambda image: image.load()[0, 0]] * 2,
    "raw": [lambda image: image.convert("RGB").resize((9, 8)).tobytes("raw", "RGBX")],
    "raw, converted": [lambda image: image.convert("RGB").tobytes("raw", "BGRX")],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_the_state_is_pillows(use: str, folder: Path) -> None:
    for name in ("small JPEG", "JPEG", "PNG", "RGBA", "WebP"):
        if (use, name) == ("fp closed", "WebP"):  # which Pillow has read
            continue
        for change in ("nothing", "removed"):
            want = outcome(by_pillow, folder, name, "text", change, USES[use])
            made = outcome(open_lazy, folder, name, "text", change, USES[use])
            assert not difference(made, want), (name, change)


@pytest.mark.parametrize("name", ["JPEG", "grey JPEG", "PNG", "palette"])
def test_a_damaged_file_that_is_used_again(name: str) -> None:
    """Pillow raises once, and then gives what it has decoded; of a file that ends it raises each time."""
    data = bytearray(FILES[name])
    middle = len(data) * 2 // 3
    data[middle : middle + 9] = b"\xff\xc4\x00\x01" + bytes(5)
    seen = set()
    for damaged in (bytes(data), bytes(data[:middle]), bytes(data[:-9])):
        images = [opener(io.BytesIO(damaged)) for opener in (by_pillow, open_lazy)]
        made = [[tried(lambda: image.convert("RGB")) for _ in range(3)] for image in images]  # noqa: B023
        assert not difference(made[1], made[0])
        seen.add(tuple(len(each) for each in made[0]))
    assert (2, 5, 5) in seen


# -- descriptors


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def test_descriptors_are_closed(folder: Path) -> None:
    path = folder / "a.jpg"
    path.write_bytes(FILES["JPEG"])
    gofast.open(path).load()
    before = descriptors()
    ends: list[Callable[[Any], Any]] = [
        lambda image: None,
        lambda image: image.convert("RGB"),
        lambda image: image.load(),
        lambda image: image.close(),
        lambda image: image.verify(),
        _left,
        lambda image: image.fp.close(),
        lambda image: image.fp,
        lambda image: image.tobytes(),
    ]
    for given in (str(path), path):
        for end in ends:
            image = gofast.open(given)
            assert descriptors() == before + 1
            end(image)
            if end not in (ends[0], ends[7]):
                assert descriptors() == before
            del image
            assert descriptors() == before
    lazy = gofast.open(str(path))
    with open(path, "rb") as file:
        other = gofast.open(file)
        crop = other.crop((0, 0, 9, 9))
        assert not file.closed
    assert crop.size == (9, 9) and descriptors() == before + 1
    del lazy


def test_a_bounded_number_is_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = [photograph(i, 40 + i % 7, 30).convert("L") for i in range(60)]
    for i, picture in enumerate(want):
        picture.save(folder / f"{i}.png")
    before = descriptors()
    monkeypatch.setattr(open_file, "_most", lambda: 20)
    images = [gofast.open(str(folder / f"{i}.png")) for i in range(60)]
    assert descriptors() == before + 20
    shutil.rmtree(folder)
    order = random.Random(1).sample(range(60), 60)
    for i in order:
        assert images[i].tobytes() == want[i].tobytes()
    assert descriptors() == before


LIMITED = """
import os, resource, shutil, sys, tempfile
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import gofast
gofast.install()
from PIL import Image
from gofast._lazy.open_lazy import by_pillow
source, others = sys.argv[1], [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
want = by_pillow(source).convert("RGB").resize((9, 9)).tobytes()
with tempfile.TemporaryDirectory() as folder:
    images = []
    for i in range(300):
        path = shutil.copy(source, os.path.join(folder, f"{i}.jpg"))
        images.append(Image.open(path))
        os.unlink(path)
    left = []
    try:
        while True:
            left.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        images.append(Image.open(source))  # none are left: room is made
assert all(image.convert("RGB").resize((9, 9)).tobytes() == want for image in images)
print(len(images))
"""


def test_more_pictures_than_descriptors(folder: Path) -> None:
    path = folder / "a.jpg"
    path.write_bytes(FILES["JPEG"])
    done = fresh.run(["-c", textwrap.dedent(LIMITED), path])
    assert done.stdout == "301\n", done.stderr


def test_no_room_is_pillows_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "a.jpg"
    path.write_bytes(FILES["JPEG"])
    own = os.open

    def full(*given: Any, **named: Any) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "open", full)
    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(OSError, match="Too many open files"):
        gofast.open(str(path))
    monkeypatch.setattr(os, "open", own)


# -- processes and threads


def _pixels(images: list[Any], out: Any) -> None:
    out.put([image.convert("RGB").tobytes() for image in images])


def test_forked_processes_read_by_offsets(folder: Path) -> None:
    """What stands in a descriptor is shared: children that read at once would read each other's parts."""
    names = ["JPEG", "longer header", "PNG"]
    want = [by_pillow(io.BytesIO(FILES[name])).convert("RGB").tobytes() for name in names]
    for name in names:
        (folder / name).write_bytes(FILES[name])
    images = [gofast.open(str(folder / name)) for name in names]
    shutil.rmtree(folder)
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    children = [context.Process(target=_pixels, args=(images, out)) for _ in range(4)]
    for child in children:
        child.start()
    assert all(out.get(timeout=60) == want for _ in children)
    for child in children:
        child.join()
    assert [image.convert("RGB").tobytes() for image in images] == want


@pytest.mark.parametrize("by", ["path", "file"])
def test_threads_read_one_picture(by: str, folder: Path) -> None:
    path = folder / "a.jpg"
    path.write_bytes(FILES["JPEG"])
    want = by_pillow(path).convert("RGB").tobytes()
    made: list[bytes] = []
    for _ in range(40):
        with open(path, "rb") as file:
            image = gofast.open(str(path) if by == "path" else file)
            work = lambda: made.append(image.convert("RGB").tobytes())  # noqa: B023, E731
            in_threads(*[work] * 4)
    assert made == [want] * 160


def test_a_pipe_is_read_once(folder: Path) -> None:
    """Also where it is the first path of a process."""
    fifo = folder / "pipe"
    os.mkfifo(fifo)
    code = "import sys, gofast; print(gofast.open(sys.argv[1]).convert('RGB').size)"
    writer = threading.Thread(target=fifo.write_bytes, args=(FILES["JPEG"],), daemon=True)
    writer.start()
    done = fresh.run(["-c", code, fifo])
    assert done.stdout == "(300, 260)\n", done.stderr
    writer.join()


def test_a_loader_reads_no_file_for_its_header_that_pillow_decodes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of a large TIFF was read first, and then by Pillow."""
    read, all_of = list[int](), open_lazy_module.all_of
    monkeypatch.setattr(open_lazy_module, "all_of", lambda fd, size: read.append(size) or all_of(fd, size))
    files = [("JPEG", 40), ("TIFF", 40), ("PNG", 40), ("PNG", 400)]
    for i, (kind, side) in enumerate(files):
        (folder / f"{i}").mkdir()
        (folder / f"{i}" / "a.tif").write_bytes(encoded(kind, "RGB", (side, side)))
    dataset = gofast.ImageFolder(folder, lambda image: image.size)
    assert [size for size, _ in dataset] == [(side, side) for _, side in files]
    assert read == [os.stat(folder / name / "a.tif").st_size for name in "02"]


def test_a_script_whose_folder_goes(folder: Path) -> None:
    """As the demo of a library downloads, opens, removes and then converts."""
    path = folder / "a.jpg"
    path.write_bytes(FILES["JPEG"])
    script = folder / "script.py"
    script.write_text(
        textwrap.dedent("""
        import shutil, sys, tempfile
        from PIL import Image
        with tempfile.TemporaryDirectory() as folder:
            image = Image.open(shutil.copy(sys.argv[1], folder))
        with tempfile.NamedTemporaryFile() as file:
            shutil.copyfile(sys.argv[1], file.name)
            other = Image.open(file.name)
        print(image.convert("RGB").tobytes() == other.convert("RGB").tobytes(), image.size)
        """)
    )
    done = fresh.run(["-m", "gofast", script, path])
    assert done.stdout == "True (300, 260)\n", done.stderr


def test_the_limit_of_a_process() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 400), hard))
        assert open_file._most() == min(soft, 400) // 4
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
