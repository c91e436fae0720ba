"""Batches of many tensors from workers, as they cross to the loop: torch's bits, without its files."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.multiprocessing import reductions
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torchvision import tv_tensors

import fresh
import gofast
from gofast._loader import worker_ring
from gofast._loader.worker_parcels import Owners
from same import difference

COUNT, BATCH = 8, 2
LARGE = 90  # [3, LARGE, LARGE] of floats is more than crosses in a pickle


class Pair(NamedTuple):
    one: torch.Tensor
    two: Any


@dataclass
class Record:
    one: torch.Tensor


def picture(index: int) -> torch.Tensor:
    return torch.arange(3.0 * LARGE * LARGE).reshape(3, LARGE, LARGE) + index


def plain(index: int) -> Any:
    return picture(index), {
        "boxes": torch.full((index, 4), index),
        "labels": torch.tensor(index),
        "id": index,
    }


def kinds(index: int) -> Any:
    types = torch.bool, torch.uint8, torch.int16, torch.bfloat16, torch.complex128, torch.float8_e5m2
    return [picture(index).to(kind) for kind in types], torch.zeros(0, 4), torch.zeros(3, 0), torch.ones(())


def layouts(index: int) -> Any:
    whole = picture(index)
    return (
        whole.permute(1, 2, 0),
        picture(index)[:, 3:70:2, 5:],
        picture(index).flip(1).unsqueeze(0).to(memory_format=torch.channels_last),
        torch.ones(1).expand(200, 200),
        torch.zeros(5)[2:],
    )


def same_memory(index: int) -> Any:
    whole = picture(index)
    return whole, whole[1], [whole, whole.view(-1)], {"part": whole[2, 3]}


def classes(index: int) -> Any:
    boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(9, 9))
    return {
        "image": tv_tensors.Image(picture(index)),
        "mask": tv_tensors.Mask(torch.full((400, 400), index)),
        "boxes": boxes,
        "pure": tv_tensors.Image(picture(index)).as_subclass(torch.Tensor),
        "parameter": torch.nn.Parameter(picture(index)),
        "leaf": picture(index).requires_grad_(),
        "sparse": picture(index)[0].to_sparse(),
    }


def containers(index: int) -> Any:
    ordered = OrderedDict(b=picture(index), a=torch.tensor([index]))
    return Pair(picture(index), ordered), Record(picture(index)), {3: (torch.ones(2), "text", None, b"x", 1j)}


def arrays(index: int) -> Any:
    array = picture(index).numpy()
    return torch.from_numpy(array[0]), array[1], torch.as_tensor(np.arange(index)), np.float32(index)


ROWS = [plain, kinds, layouts, same_memory, classes, containers, arrays]


class Rows(Dataset[Any]):
    def __init__(self, row: Callable[[int], Any]) -> None:
        self.row = row

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        return self.row(index)


def zipped(rows: list[Any]) -> Any:
    return tuple(zip(*rows, strict=True)) if isinstance(rows[0], tuple) else rows


def itself(rows: list[Any]) -> Any:
    return rows


def stacked(rows: list[Any]) -> Any:
    return torch.stack([picture(3) for _ in rows]), rows


def batches(kind: Any, dataset: Any, collate: Any = zipped, workers: int = 2, **more: Any) -> list[Any]:
    return list(kind(dataset, BATCH, num_workers=workers, collate_fn=collate, **more))


def memory(batch: Any) -> list[Any]:
    """Where tensors lie in their memory, how large that is, and which have the same."""
    found, numbers = list[Any](), dict[int, int]()

    def look(value: Any) -> None:
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            storage = value.untyped_storage()
            number = numbers.setdefault(storage.data_ptr() if storage.nbytes() else 0, len(numbers))
            found.append(
                (value.storage_offset(), value.stride(), storage.nbytes(), number, value.requires_grad)
            )
        for one in (
            value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        ):
            look(one)
        if isinstance(value, Record):
            look(value.one)

    look(batch)
    return found


def plainer(batch: Any) -> Any:
    """Without what `difference` does not look into."""
    if isinstance(batch, Record):
        return [batch.one]
    if isinstance(batch, dict):
        return {key: plainer(one) for key, one in batch.items()}
    if isinstance(batch, torch.Tensor):
        values = batch.to_dense() if batch.is_sparse else batch.detach().as_subclass(torch.Tensor)
        return [type(batch).__name__, values]
    return [type(batch).__name__, *map(plainer, batch)] if isinstance(batch, list | tuple) else batch


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("collate", [zipped, itself, stacked], ids=lambda one: one.__name__)
@pytest.mark.parametrize("row", ROWS, ids=lambda one: one.__name__)
def test_batches_are_torchs(row: Any, collate: Any) -> None:
    theirs = batches(DataLoader, Rows(row), collate)
    ours = batches(gofast.DataLoader, Rows(row), collate)
    assert difference(plainer(ours), plainer(theirs)) == ""
    assert [*map(memory, ours)] == [*map(memory, theirs)]


@pytest.fixture
def crossings(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """What came as a ticket, and what as a file of torch's."""
    found: dict[str, list[Any]] = {"tickets": [], "files": []}

    def count(module: Any, name: str, what: str) -> None:
        function = getattr(module, name)

        @functools.wraps(function)  # pickled by its name
        def counted(*args: Any) -> Any:
            found[what].append(args)
            return function(*args)

        monkeypatch.setattr(module, name, counted)

    count(worker_ring, "_rebuild", "tickets")
    count(reductions, "rebuild_storage_fd", "files")
    return found


@pytest.mark.parametrize(
    ("row", "tickets"),
    [(plain, 1), (layouts, 3), (same_memory, 1), (arrays, 0)],
    ids=lambda one: str(one)[:20],
)
def test_nothing_is_a_file_of_torchs(row: Any, tickets: int, crossings: dict[str, list[Any]]) -> None:
    batches(gofast.DataLoader, Rows(row))
    assert (len(crossings["tickets"]), len(crossings["files"])) == (COUNT * tickets, 0)


def test_small_default_batches_have_no_files(crossings: dict[str, list[Any]]) -> None:
    dataset = Rows(lambda index: (torch.tensor([index]), torch.tensor(index), index, "text"))
    theirs = batches(DataLoader, dataset, None)
    crossings["files"].clear()
    assert difference(batches(gofast.DataLoader, dataset, None), theirs) == ""
    assert not crossings["files"]


class Kept(Dataset[Any]):
    """It keeps what it gives, in one of several ways."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.tensors = [picture(index) for index in range(COUNT)]
        self.all = torch.stack(self.tensors)
        self.rows = [(one, {"small": torch.tensor([7])}) for one in self.tensors]
        self.last: list[Any] = []

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> Any:
        match self.how:
            case "tensors":
                return self.tensors[index], {}
            case "one tensor":
                return self.all[index], {}
            case "rows":
                return self.rows[index]
            case "an alias":
                self.last.append((made := picture(index)).view(-1))
                return made, {"seen": float(sum(one.sum() for one in self.last))}
        self.last.append(made := picture(index))
        return made, {"seen": float(sum(one.sum() for one in self.last))}


class KeptBatches(Dataset[Any]):
    """It makes the rows of a batch, and keeps their list."""

    def __init__(self) -> None:
        self.rows = [(picture(index), index) for index in range(BATCH)]

    def __len__(self) -> int:
        return BATCH

    def __getitems__(self, indices: list[int]) -> Any:
        return self.rows


class KeptIterable(IterableDataset[Any]):
    def __init__(self) -> None:
        self.batch = [picture(0), picture(1)]

    def __iter__(self) -> Any:
        yield self.batch
        yield self.batch


def changed(kind: Any, dataset: Any) -> list[Any]:
    """Epochs whose one batch the loop changes in place: a worker that kept it sees that, as torch has it."""
    loader = kind(dataset, COUNT, collate_fn=zipped, num_workers=1, persistent_workers=True)
    seen = []
    for _ in range(3):
        for batch in loader:
            pictures, _ = batch
            seen.append([one.clone() for one in pictures])
            for one in pictures:
                one.add_(1)
    return seen


@pytest.mark.parametrize("how", ["tensors", "one tensor", "rows"])
def test_what_is_kept_is_shared(how: str) -> None:
    """A tensor that the worker keeps is the same memory in both processes."""
    assert difference(changed(gofast.DataLoader, Kept(how)), changed(DataLoader, Kept(how))) == ""


@pytest.mark.parametrize("dataset", [KeptBatches(), KeptIterable()], ids=["rows", "iterable"])
def test_kept_lists_are_shared(dataset: Any, crossings: dict[str, list[Any]]) -> None:
    more: dict[str, Any] = {"batch_size": BATCH} if isinstance(dataset, KeptBatches) else {"batch_size": None}
    list(gofast.DataLoader(dataset, num_workers=1, collate_fn=itself, **more))
    assert crossings["files"] and not crossings["tickets"]


@pytest.mark.parametrize("how", ["it", "an alias"])
def test_what_only_the_dataset_sees_is_its_own(how: str) -> None:
    ours, theirs = (batches(kind, Kept(how), workers=1) for kind in (gofast.DataLoader, DataLoader))
    assert difference(ours, theirs) == ""


def test_small_tensors_hold_no_slot(crossings: dict[str, list[Any]]) -> None:
    """A loop may keep all boxes of an epoch: pictures are made in the same slots again."""
    kept = []
    dataset = Rows(lambda index: plain(index % 5))
    for _ in range(5):
        kept += [
            targets for _, targets in gofast.DataLoader(dataset, BATCH, num_workers=1, collate_fn=zipped)
        ]
    assert {ticket[4] for ticket in crossings["tickets"]} == {16} and len(kept) == 5 * COUNT // BATCH


def test_all_pictures_may_be_held() -> None:
    dataset = torch.utils.data.ConcatDataset([Rows(plain)] * 10)
    ours = batches(gofast.DataLoader, dataset, workers=1)
    assert difference(ours, batches(DataLoader, dataset, workers=0)) == ""


def test_what_cannot_be_pickled_is_torchs_error() -> None:
    dataset = Rows(lambda index: (picture(index), (one for one in ())))
    with pytest.raises(TypeError, match="cannot pickle 'generator' object"):
        batches(gofast.DataLoader, dataset)


class Untouched(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("a class's own methods are not called")

    __len__ = __iter__  # type: ignore[assignment]


class Waits:
    waits = True


def free(*roots: list[Any]) -> int:
    return len(Owners(*roots).free())


def test_owners() -> None:
    """Each way to hold a tensor, and what looks like one."""
    assert free([picture(0)]) == free([(picture(0), [{"a": 1}])]) == free([picture(0)[1:]]) == 1
    assert free([picture(0).numpy(), torch.from_numpy(np.zeros(9))]) == 1
    assert free([tv_tensors.Image(picture(0))]) == free([tv_tensors.Mask(picture(0)[0])]) == 1
    held = picture(0)
    assert free([held]) == free([[held]]) == free([held[1]]) == free([held.detach()]) == 0
    array, whole = (made := picture(0)).numpy(), picture(0)
    assert free([made]) == 0 and array is not None
    part = whole[1]
    rows: list[Any] = [whole]
    del whole
    assert free(rows) == 0 and part is not None
    rows = [picture(0), picture(1)]
    storage = rows[0].untyped_storage()
    assert free(rows) == 1 and storage is not None
    inside = {"tensor": picture(0)}
    assert free([(inside, picture(1))]) == 1
    row = (picture(0), 1)
    assert free([row[0]], [row]) == 0
    listed = [(picture(0), 1)]
    assert free([listed[0][0]], listed) == 1 and free([listed[0][0]]) == 0
    assert free([Untouched([picture(0)])]) == free([Waits(), picture(0)]) == 1
    with torch.inference_mode():
        assert free([picture(0)[1:]]) == 1
    whole = picture(0)
    both = [whole[0], whole[1], whole]
    del whole
    assert free(both) == 1
    assert free(both, [both[2]]) == 1 and free([*both[:2]]) == 0


IMPORTED = """
import torch
with {context}:
    from gofast._loader.worker_parcels import Owners
    assert len(Owners([torch.zeros(9, device="cpu")]).free()) == 1
"""


@pytest.mark.parametrize("context", ['torch.device("meta")', "torch.inference_mode()"])
def test_imported_within(context: str) -> None:
    """Scripts that make their tensors on an accelerator say so before they import anything else."""
    fresh.run(["-c", IMPORTED.format(context=context)], check=True)


def test_default_device_of_a_worker() -> None:
    """It is not where batches are copied."""

    def begin(_: int) -> None:
        torch.set_default_device("meta")

    def pictures(kind: Any) -> Any:
        dataset = Rows(lambda index: np.full((3, LARGE, LARGE), index))
        return batches(kind, dataset, lambda rows: [*map(torch.from_numpy, rows)], worker_init_fn=begin)

    assert difference(pictures(gofast.DataLoader), pictures(DataLoader)) == ""


def test_what_is_kept_keeps_no_larger_slot(crossings: dict[str, list[Any]]) -> None:
    """A loop may keep all masks of an epoch: no slot of a picture, which is larger, is theirs."""
    kept = []
    dataset = Rows(lambda index: (torch.zeros(1 << 20), torch.full((1 << 15,), index)))
    for _, masks in gofast.DataLoader(
        torch.utils.data.ConcatDataset([dataset] * 10), BATCH, num_workers=1, collate_fn=zipped
    ):
        kept.append(masks)
    sizes = {(ticket[3], ticket[6][0]) for ticket in crossings["tickets"]}
    assert len(kept) == 40 and sizes == {(1 << 22, 1 << 22), (1 << 18, 1 << 18)}
