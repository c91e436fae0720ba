"""What a collate_fn of one's own gets: a list of rows, as in torch; and what the default one hands over."""

from __future__ import annotations

import copy
import heapq
import operator
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    StackDataset,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
)
from torch.utils.data._utils.collate import collate, collate_float_fn, default_collate_fn_map
from torchvision import datasets, transforms, tv_tensors

import gofast
from gofast._core.reason import Reason
from gofast._loader.batch import _LOOKS
from gofast._loader.batch_source import BatchSource
from same import difference

X = torch.arange(600, dtype=torch.float32).reshape(40, 3, 5)
Y = torch.arange(40) * 3
LOADERS = pytest.mark.parametrize("make", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])


def made(output: Any = "tuple") -> gofast.ArrayDataset:
    """A dataset whose batches are made at once; samples are X and Y all the same."""
    return gofast.ArrayDataset(X, Y, output=output, mean=0, std=1)


def rows(output: Any = "tuple") -> Any:
    dataset = gofast.ArrayDataset(X, Y) if output == "views" else made(output)
    return dataset.__getitems__([3, 1, 4, 1])


def plain_rows(output: str = "tuple") -> list[Any]:
    pairs = [(X[i].clone(), Y[i].clone()) for i in (3, 1, 4, 1)]
    return (
        pairs if output != "dict" else [dict(zip(("features", "label"), row, strict=True)) for row in pairs]
    )


OPERATIONS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "zip": lambda b: [*zip(*b, strict=True)],
    "star": lambda b: [*b],
    "first": lambda b: b[0],
    "last": lambda b: b[-1],
    "slice": lambda b: b[1:3],
    "step": lambda b: b[::-2],
    "twice": lambda b: b * 2,
    "twice from the left": lambda b: 2 * b,
    "add": lambda b: b + [1],  # noqa: RUF005
    "add to a list": lambda b: [1] + b,  # noqa: RUF005
    "add itself": lambda b: b + b,
    "extend a list": lambda b: [[]] + [None] + b,  # noqa: RUF005
    "slice of a list": lambda b: _assigned(b),
    "reversed": lambda b: [*reversed(b)],
    "sorted": lambda b: sorted(b, key=_number, reverse=True),
    "map": lambda b: [*map(_number, b)],
    "unpack": lambda b: _unpacked(*b),
    "contains": lambda b: 5 in [0, *map(_number, b)],
    "index": lambda b: b.index(b[0]),
    "count": lambda b: b.count(None),
    "copy": lambda b: b.copy(),
    "copied": copy.copy,
    "deep": copy.deepcopy,
    "pickled": lambda b: pickle.loads(pickle.dumps(b)),
    "repr": repr,
    "text": str,
    "length": len,
    "equal": lambda b: (b == [], b != [], b == b, [] == b),  # noqa: SIM300
    "heap": lambda b: heapq.nsmallest(2, b, key=_number),
    "convert": default_convert,
    "collate": default_collate,
    "own map": lambda b: collate(b, collate_fn_map={torch.Tensor: lambda rows, **_: len(rows)}),
}
CHANGES: dict[str, Callable[[list[Any]], object]] = {
    "append": lambda b: b.append(b[0]),
    "extend": lambda b: b.extend(b[:1]),
    "insert": lambda b: b.insert(1, b[3]),
    "pop": lambda b: b.pop(),
    "remove": lambda b: b.remove(b[0]),
    "clear": lambda b: b.clear(),
    "reverse": lambda b: b.reverse(),
    "sort": lambda b: b.sort(key=_number),
    "set": lambda b: b.__setitem__(0, b[2]),
    "set slice": lambda b: b.__setitem__(slice(0, 2), b[2:]),
    "delete": lambda b: b.__delitem__(1),
    "iadd": lambda b: b.__iadd__(b[:2]),
    "imul": lambda b: b.__imul__(2),
}


def _number(row: Any) -> int:
    return int(row["label"] if isinstance(row, dict) else row[1])


def _unpacked(a: Any, *b: Any) -> Any:
    return b, a


def _assigned(b: list[Any]) -> Any:
    made: list[Any] = [1, 2]
    made[1:1] = b
    return made


@pytest.mark.parametrize("output", ["tuple", "dict", "views"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_reading_a_batch_as_a_list(name: str, output: str) -> None:
    batch, want = rows(output), plain_rows(output)
    assert isinstance(batch, list) and len(batch) == 4
    got, wanted = OPERATIONS[name](batch), OPERATIONS[name](want)
    assert not difference(got, wanted), difference(got, wanted)
    assert not difference(list(batch), want)


@pytest.mark.parametrize("name", CHANGES)
def test_changing_a_batch_as_a_list(name: str) -> None:
    batch, want = rows(), plain_rows()
    CHANGES[name](batch)
    CHANGES[name](want)
    assert not difference(list(batch), want)
    assert not want or not difference(default_collate(batch), default_collate(want))


def _added(a: list[Any], b: list[Any]) -> list[Any]:
    also = a
    a += b
    assert also is a
    return a


def _extended(a: list[Any], b: list[Any]) -> list[Any]:
    a.extend(b)
    return a


def _put_inside(a: list[Any], b: list[Any]) -> list[Any]:
    a[1:3] = b
    return a


PAIRS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "add": lambda a, b: a + b,
    "add in place": _added,
    "extend": _extended,
    "sum": lambda a, b: sum([a, b], []),  # noqa: RUF017
    "sum from a batch": lambda a, b: sum([b], a),
    "twice": lambda a, b: a * 2 + 2 * b,
    "slice": _put_inside,
}


@pytest.mark.parametrize("left", ["batch", "list"])
@pytest.mark.parametrize("name", PAIRS)
def test_two_batches_as_lists(name: str, left: str) -> None:
    got = PAIRS[name](rows() if left == "batch" else plain_rows(), rows())
    assert not difference(list(got), PAIRS[name](plain_rows(), plain_rows()))
    assert all(type(row) is tuple for row in list.__iter__(got))


def test_two_batches_are_compared_by_their_rows() -> None:
    def numbers(*values: int) -> Any:
        return gofast.ArrayDataset(np.arange(4.0), output="tuple", mean=0, std=1).__getitems__([*values])

    for a, b in ([0, 1], [0, 1]), ([0, 1], [0, 2]), ([3], [0, 2]):
        for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
            assert compare(numbers(*a), numbers(*b)) == compare(a, b)


def test_a_list_that_takes_in_a_batch_stays_the_same_list() -> None:
    kept: list[Any] = []
    also = kept
    kept += rows()
    kept += rows()
    assert kept is also and type(kept) is list
    assert not difference(kept, plain_rows() * 2)


def test_every_method_of_lists_is_asked_for() -> None:
    """A method that a new Python adds to lists must make the rows first, like those that are there."""
    known = {"__class_getitem__", "__getattribute__", "__hash__", "__init__", "__len__", "__new__"}
    known |= {"__sizeof__", "__doc__", "__getitem__", "__reduce__"}
    assert set(vars(list)) - known == set(_LOOKS)


def test_rows_are_plain_and_own_their_memory() -> None:
    for output, kind in (("tuple", tuple), ("dict", dict)):
        row = rows(output)[1]
        image, label = row.values() if isinstance(row, dict) else row
        assert type(row) is kind and type(image) is torch.Tensor
        assert image.untyped_storage().nbytes() == 15 * 4 and label.untyped_storage().nbytes() == 8
        image.resize_(100)
    batch = rows()
    images = batch.images
    assert batch[0] is batch[0] and not hasattr(batch, "images")
    batch[2][0].fill_(-1)
    assert int(images.min()) >= 0
    assert int(default_collate(batch)[0][2].max()) == -1


@pytest.mark.parametrize("workers", [0, 2])
def test_a_kept_row_does_not_keep_its_batch(workers: int) -> None:
    kept = []

    def one(batch: list[Any]) -> Any:
        return batch[1][0]

    for row in DataLoader(made(), 10, collate_fn=one, num_workers=workers):
        kept.append(row)
    assert [row.untyped_storage().nbytes() for row in kept] == [60] * 4
    assert torch.equal(torch.stack(kept), X[1::10])


PLAIN = transforms.Compose([transforms.Resize((8, 9)), transforms.ToTensor()])


@pytest.mark.arrives("device")
@pytest.mark.parametrize("workers", [0, 2])
@LOADERS
def test_torchs_functions_of_lists_of_tensors(make: Any, workers: int, folder: Path) -> None:
    """They read a list's memory themselves."""
    files = gofast.ImageFiles(sorted(map(str, folder.rglob("*.*"))), transform=PLAIN)
    want = torch.stack([files[i] for i in range(20)])
    for function in (torch.stack, torch.cat, torch.nn.utils.rnn.pad_sequence):
        got = [*make(files, 10, collate_fn=function, num_workers=workers)]
        wanted = [function([*part]) for part in (want[:10], want[10:])]
        assert not difference(got, wanted, strides=False)


def test_a_picture_keeps_its_strides(folder: Path) -> None:
    for last in (False, True):
        ours = gofast.ImageFolder(folder, PLAIN, channels_last=last)
        assert [row[0].stride() for row in ours.__getitems__([0, 1])] == [ours[0][0].stride()] * 2
        assert all(row[0].untyped_storage().nbytes() == 8 * 9 * 12 for row in ours.__getitems__([0, 1]))


# ---------------------------------------------------------------- what is handed over


def test_default_collate_hands_over_the_batch() -> None:
    for wrap in (default_collate, lambda b: default_collate(b), lambda b: [*default_collate(b)]):
        batch = rows()
        address = batch.images.data_ptr()
        assert wrap(batch)[0].data_ptr() == address
    again = Subset(made(), range(5)).__getitems__([0, 1])
    assert default_collate(again)[0].data_ptr() == again.images.data_ptr()  # type: ignore[attr-defined]


def test_collating_twice_gives_two_batches() -> None:
    batch = rows()
    first, second = default_collate(batch), default_collate(batch)
    first[0].zero_()
    assert not difference(second, default_collate(plain_rows()))
    assert not difference(list(batch), plain_rows())


def test_rows_of_a_batch_that_was_changed_meanwhile_are_refused() -> None:
    for change in (lambda b: b[0].zero_(), lambda b: b[1].add_(1)):
        batch = rows()
        change(default_collate(batch))
        for look in (list, default_collate, lambda b: b[0]):
            with pytest.raises(gofast.errors.UnsupportedError, match="looks at the rows first"):
                look(batch)


# ---------------------------------------------------------------- torch's map of functions


@pytest.fixture
def own() -> Iterator[dict[Any, Any]]:
    """The default map, to be changed."""
    kept = dict(default_collate_fn_map)
    yield default_collate_fn_map  # type: ignore[misc]
    default_collate_fn_map.clear()
    default_collate_fn_map.update(kept)


class Other:
    pass


def said(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return "mine", len(batch)


@pytest.mark.daily
@pytest.mark.parametrize(
    "kind", [torch.Tensor, int, tuple, Mapping, object, (Other, tuple), tv_tensors.Image]
)
@pytest.mark.parametrize("workers", [0, 2])
@LOADERS
def test_an_own_function_for_a_type_is_called(
    make: Any, workers: int, kind: Any, own: dict[Any, Any], folder: Path
) -> None:
    own[kind] = said
    theirs, ours = datasets.ImageFolder(str(folder), PLAIN), gofast.ImageFolder(folder, PLAIN)
    options: dict[str, Any] = {"batch_size": 8, "num_workers": workers}
    got, want = ([*loader(d, **options)] for loader, d in ((make, ours), (DataLoader, theirs)))
    assert not difference(got, want, strides=False)
    table, frame = gofast.ArrayDataset(X, Y, output="dict"), Dicts()
    got, want = ([*loader(d, **options)] for loader, d in ((make, table), (DataLoader, frame)))
    assert not difference(got, want, strides=False)


class Dicts(Dataset[Any]):
    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        return {"features": X[index], "label": Y[index]}


def test_another_function_of_torchs_own_counts_too(own: dict[Any, Any], folder: Path) -> None:
    own[int] = collate_float_fn
    for make in (DataLoader, gofast.DataLoader):
        assert next(iter(make(gofast.ImageFolder(folder, PLAIN), 4)))[1].dtype == torch.float64


def test_what_does_not_concern_us_costs_nothing(own: dict[Any, Any]) -> None:
    loader = gofast.DataLoader(gofast.ArrayDataset(X, Y), 4)
    for kind in (Other, bytes, (Other, float)):
        own[kind] = said
        assert isinstance(loader._native_view(), BatchSource)
        batch = rows()
        assert default_collate(batch)[0].data_ptr() == batch.images.data_ptr()
    own[dict] = said
    assert isinstance(loader._native_view(), Reason)
    del own[dict]
    assert isinstance(loader._native_view(), BatchSource)


def test_stacked_beside_others() -> None:
    stack = StackDataset(gofast.ArrayDataset(X, Y), Dicts())
    want = StackDataset([(x, y) for x, y in zip(X, Y, strict=True)], Dicts())  # type: ignore[arg-type]
    assert not difference([*DataLoader(stack, 7)], [*DataLoader(want, 7)])


def test_inference_mode() -> None:
    """Its tensors count no changes: rows are not read once the batch was handed over."""
    with torch.inference_mode():
        for workers in (0, 1):
            theirs = list(DataLoader(TensorDataset(X, Y), 7))
            assert not difference(list(DataLoader(made(), 7, num_workers=workers)), theirs)
        batch = rows()
        default_collate(batch)
        with pytest.raises(gofast.errors.UnsupportedError, match="looks at the rows first"):
            list(batch)
        assert not difference(list(rows()), plain_rows())
