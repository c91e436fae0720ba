"""What a recipe has to offer, so that all are timed and checked by the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

BATCH = 64
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
THEIR_WORKERS = (0, 2, 4)

Open = Callable[[str], Iterable[Any]]


@dataclass(frozen=True)
class Side:
    """One way to run a recipe: a folder to an epoch's batches, which are iterated again and again.

    Attributes:
        open: the folder to the batches. Those that have a `turn` time themselves.
        reference: gives the batches that these must equal, for the same seeds; None: these are them.
        about: says which steps of the recipe run in Python.
    """

    open: Open
    reference: Open | None = None
    about: Callable[[str], list[str]] | None = None


@dataclass(frozen=True)
class Recipe:
    """Some sides of one recipe, by their names.

    Attributes:
        pictures: of an epoch; fewer where they take long.
    """

    sides: dict[str, Side]
    pictures: int = 2_000


def workers(count: int) -> str:
    """How a side's name ends."""
    return f"{count} workers"


def loader(kind: Any, dataset: Any, count: int, **options: Any) -> Any:
    """A DataLoader of this class. Workers live on from epoch to epoch, which is the best for them."""
    forked = {"multiprocessing_context": "fork", "persistent_workers": True} if count else {}
    return kind(dataset, num_workers=count, **{"batch_size": BATCH, "shuffle": True, **forked, **options})


def sides(
    theirs: Callable[[str], Any], ours: Callable[[str], Any], name: str, drop_in: bool = True, **options: Any
) -> dict[str, Side]:
    """The usual ones: a dataset of theirs in torch's DataLoader, and one of ours there and in gofast's.

    Args:
        theirs, ours: a folder to a dataset.
        name: whose theirs is.
        drop_in: gofast.DataLoader is measured; else only torch's, where something inside is swapped.
        options: of the loaders.
    """
    from torch.utils.data import DataLoader  # not above: reports read the names here, in a second

    def plain(made: Callable[[str], Any], count: int) -> Open:
        return lambda folder: loader(DataLoader, made(folder), count, **options)

    def own(count: int) -> Open:
        return lambda folder: loader(gofast().DataLoader, ours(folder), count, **options)

    def about(folder: str) -> list[str]:
        lines = gofast().explain(ours(folder)).lines
        return [f"{step}: {what}" for step, where, what in lines if where == "Python"]

    found = {f"{name}, {workers(n)}": Side(plain(theirs, n)) for n in THEIR_WORKERS}
    for n in (0, 2):
        if drop_in:
            found[f"gofast.DataLoader, {workers(n)}"] = Side(own(n), plain(theirs, n), about)
    for n in (2,) if drop_in else (0, 2):
        found[f"gofast, torch's DataLoader, {workers(n)}"] = Side(plain(ours, n), plain(theirs, n))
    return found


def gofast() -> Any:
    """The module, which the sides without it do not import."""
    import gofast

    return gofast


def folders(transform: Callable[[], Any], name: str = "torchvision", **options: Any) -> dict[str, Side]:
    """torchvision's ImageFolder is swapped for gofast's, and nothing else."""

    def theirs(folder: str) -> Any:
        from torchvision.datasets import ImageFolder

        return ImageFolder(folder, transform())

    return sides(theirs, lambda folder: gofast().ImageFolder(folder, transform()), name, **options)
