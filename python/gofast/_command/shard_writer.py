"""Writing a folder's shards, going on with those that are there, and reading them back."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from .. import errors
from .._core.braces import index_name
from .._core.progress import Progress
from .._core.shard_index import content_of, index_of, read_index
from .._core.shown_urls import is_url
from .._core.units import bytes_of, many, size
from . import output
from .shard_bucket import BucketNames
from .shard_forms import Form, form_of, is_whole
from .shard_plan import ShardNames, ShardPicture, ShardPlan

_SMALLEST = 10**6


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    in_bucket = given.dst.startswith("s3://")
    for what, value in ("SRC", given.src), ("DST", "" if in_bucket else given.dst):
        if is_url(value) or value.startswith("file://"):
            raise errors.OptionError(f"{what} is a URL: give a folder here, and copy from or to the server")
    names, most = (BucketNames if in_bucket else ShardNames)(given.dst), bytes_of("--size", given.size)
    names.outside(given.src)
    if most < _SMALLEST:
        raise errors.OptionError(f"--size {given.size}: a shard has at least {size(_SMALLEST)}")
    form = form_of(names.suffix)
    plan = ShardPlan(given.src, most, given.shuffle, given.on_error == "skip")
    for error in plan.skipped:
        output.note(f"left out: {error}")
    if not plan.shards:
        raise errors.NotFoundError(f"{given.src}: no picture that can be opened").at(path=given.src)
    paths = names.of(len(plan.shards))
    with names.alone():
        written = _write(plan, form, paths, names)
        if given.verify:
            _verify(plan, form, paths, names)
        total = sum(names.shards().values())
    count, kept = len(plan.order), len(paths) - written
    if given.json:
        skipped = [{"path": error.path, "reason": str(error)} for error in plan.skipped]
        output.print_json(
            {"shards": paths, "kept": kept, "pictures": count, "bytes": total, "skipped": skipped}
        )
    else:
        stayed = f" ({kept} were there)" if kept else ""
        checked = ", read back and equal" if given.verify else ""
        said = f"{many(count, 'picture')} in {many(len(paths), 'shard')}{stayed}, {size(total)}{checked}"
        output.note(f"{given.dst}: {said}")
    return output.DONE


def _write(plan: ShardPlan, form: Form, paths: list[str], names: ShardNames) -> int:
    """Writes what is not there yet. Returns how many shards."""
    there = names.shards()
    missing = [shard for shard, path in enumerate(paths) if os.path.basename(path) not in there]
    for shard in sorted({*range(len(paths))} - {*missing}):
        features = _features(plan, form, shard)
        if isinstance(names, BucketNames):
            whole = names.is_whole(paths[shard], features)
        else:
            whole = is_whole(form, paths[shard], features, plan.samples_in_tar(shard))
        if not whole:
            raise _others(paths[shard])
    for name in sorted({*there} - {*map(os.path.basename, paths)}):
        raise _others(os.path.join(os.path.dirname(paths[0]), name))
    old = [path for shard, path in enumerate(paths) if shard not in missing and not names.is_indexed(path)]
    for path, here in zip(old, names.reading(old), strict=True):
        names.index(path, here)
    done = plan.total - sum(map(plan.bytes_of, missing))
    with Progress(f"writing {many(len(paths), 'shard')}") as progress:
        for shard in missing:
            features = _features(plan, form, shard)
            with names.writing(paths[shard], features) as file:
                form.write(file, features, _counted(plan, shard, done, progress))
            done += plan.bytes_of(shard)
    names.settle()
    return len(missing)


def _features(plan: ShardPlan, form: Form, shard: int) -> str:
    return form.features(plan.classes, plan.fingerprint(shard))


def _counted(plan: ShardPlan, shard: int, done: int, progress: Progress) -> Iterator[ShardPicture]:
    for picture in plan.pictures(shard):
        yield picture
        done += len(picture.content)
        progress.update(done / max(plan.total, 1))


def _verify(plan: ShardPlan, form: Form, paths: list[str], names: ShardNames) -> None:
    """Reads shards as a training does, and compares them with the files.

    Raises:
        DamagedError: they differ.
    """
    with Progress(f"reading {many(len(paths), 'shard')}") as progress:
        for path, local, (first, behind) in zip(paths, names.reading(paths), plan.shards, strict=True):
            found, order = form.read([local]), plan.order[first:behind]
            contents = found._listing.files.contents
            assert contents is not None
            if found.classes != plan.classes or found.targets != plan.labels[order].tolist():
                raise errors.DamagedError(f"{path}: it has other classes or labels than the folder").at(
                    path=path
                )
            for at, number in enumerate(order.tolist()):
                if contents[at] != plan.content(number):
                    said = f"{path}: {found.paths[at]} is not {plan.path(number)}: the bytes differ"
                    raise errors.DamagedError(said).at(path=path)
                progress.update((first + at) / len(plan.order))
            for index in names.reading([index_name(path)] if names.has_indexes else []):
                there = read_index(index, {"size": os.path.getsize(local), "tag": names.tag(path)})
                if content_of(there) != content_of(index_of(local)):
                    name = index_name(path)
                    raise errors.DamagedError(f"{name}: it is not the index of {path}").at(path=name)


def _others(path: str) -> errors.ChangedError:
    said = "it is there, and is no whole shard of these pictures as they are now, with these options"
    return errors.ChangedError(f"{path}: {said}: remove it, or give another DST").at(path=path)
