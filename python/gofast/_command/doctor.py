"""gofast doctor: why loading is slow, of a folder, a table, or the loader of a script."""

from __future__ import annotations

import argparse
import os
import warnings
from typing import Any

from .. import errors
from .._core import engine
from .._tables.sources import expand
from ..doctor import doctor
from . import output

_DESCRIPTION = """Measures a loader, says in plain words what its bottleneck is, and tries what may help.

A folder of pictures is measured with the usual recipe: random crops of 224, flips, normalised, batches of 64,
by torchvision's ImageFolder where there are class folders. A table is measured in batches of 512 of its
numbers, a script by the first DataLoader that it iterates over. It runs until that has given some batches,
and no further. Exit status 1 if the loader failed."""

_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "doctor",
        run,
        "say why loading is slow, and what helps",
        _DESCRIPTION,
        """gofast doctor photos/train
gofast doctor train.parquet --seconds 20 --html doctor.html
gofast doctor --html doctor.html train.py --epochs 1""",
    )
    _options(parser)
    parser.add_argument(
        "what", metavar="SCRIPT_OR_DATASET", help="a script, a folder of pictures, or a table"
    )
    rest = parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="the script's own")
    rest.required = False  # an error would name it


def _options(parser: argparse.ArgumentParser) -> None:
    none = argparse.SUPPRESS  # the same options behind a dataset change only what is given there
    parser.add_argument(
        "--seconds", type=float, default=none, help="how long to measure, about (default: 10)"
    )
    parser.add_argument("--batch-size", type=output.positive, default=none, help="samples of a batch")
    parser.add_argument(
        "--workers", type=int, default=none, help="num_workers (default: one a processor, 8 at most)"
    )
    parser.add_argument("--html", metavar="FILE", default=none, help="write a page with plots, too")
    parser.add_argument("--json", action="store_true", default=none, help="print JSON on stdout")


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    script = is_script(given.what)
    if not script:
        behind = argparse.ArgumentParser(prog="gofast doctor")
        _options(behind)
        behind.parse_args(given.arguments, given)
    html = _option(given, "html")
    if html and not os.path.isdir(os.path.dirname(html) or "."):
        raise errors.OptionError(f"--html {html}: there is no such folder")  # said before all is measured
    seconds = getattr(given, "seconds", 10.0)
    if script:
        from .._doctor.diagnosis import budget_of, diagnose
        from . import script_loader

        budget = budget_of(seconds)
        found = script_loader.loader_of(given.what, given.arguments, budget / 4)
        with found.as_main():
            report = diagnose(
                found.loader,
                found.step,
                seconds,
                budget=budget - found.seconds,
                scope=found.scope,
                seen=found.seen,
            )
    else:
        from .._doctor.training_loop import Simulated

        loader = dataset_loader(given.what, _option(given, "batch_size"), _option(given, "workers"))
        report = doctor(loader, Simulated(), seconds=seconds)
    if _option(given, "json"):
        output.print_json(report.to_dict())
    else:
        output.print_text(f"{report}\n")
    if html:
        report.save(html)
        output.note(f"{html} has the plots")
    return output.FAILED if report.code == "failed" else output.DONE


def _option(given: argparse.Namespace, name: str) -> Any:
    return getattr(given, name, None)


def is_script(what: str) -> bool:
    """Whether it is Python code to run, and no data."""
    return what.endswith(".py") and not os.path.isdir(what)


def dataset_loader(path: str, batch: int | None, workers: int | None) -> Any:
    """The loader that most scripts would have for these data.

    Raises:
        NotFoundError: there is nothing at the path.
        ImportError: torchvision is needed, and not installed.
    """
    from torch.utils.data import DataLoader

    pictures = os.path.isdir(path) and not _has_tables(path)
    if workers is None:
        workers = min(engine.threads(), 8)
    elif workers < 0:
        raise errors.OptionError(f"--workers {workers}: give 0 or more")
    dataset = _pictures(path) if pictures else _table(path)
    size = batch or (64 if pictures else 512)
    output.note(
        f"{len(dataset)} samples, {type(dataset).__module__.partition('.')[0]}.{type(dataset).__name__}, "
        f"torch's DataLoader, batches of {size}, {workers} workers"
    )
    return DataLoader(dataset, size, shuffle=True, num_workers=workers)


def _has_tables(folder: str) -> bool:
    try:
        expand(folder)
    except errors.GofastError:
        return False
    return True


def _table(path: str) -> Any:
    """The table's numbers; columns of words are left out."""
    from ..table import TableDataset

    words: list[str] = []
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.GofastWarning)  # labels and scales change no speed
                dataset = TableDataset(path, exclude=words, fill_value=float("nan"))
        except errors.SchemaError as error:
            if error.column is None or error.column in words:
                raise
            words.append(error.column)
            continue
        if words:
            output.note(f"without {', '.join(words)}: features are numbers")
        return dataset


def _pictures(path: str) -> Any:
    try:
        from torchvision import datasets, transforms
    except ImportError as error:
        raise ImportError(
            "the recipe of a folder of pictures needs torchvision: pip install torchvision"
        ) from error
    recipe = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(_MEAN, _STD),
        ]
    )
    with os.scandir(path) as entries:
        classes = any(entry.is_dir() for entry in entries)
    if classes:
        return datasets.ImageFolder(path, recipe)
    from ..images import ImageFiles

    return ImageFiles(path, transform=recipe)
