"""A stack that is a row of a batch waits, as the samples do that it is made of."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision.transforms as T
from PIL import Image
from torch.utils.data import DataLoader, Dataset

import gofast
from forked import answer_of_child
from gofast._images import lazy_samples
from gofast._images.held_pictures import Held
from gofast._images.pending_samples import Pending
from gofast._images.pending_stacks import PendingStack
from gofast._loader.sample_memory import SampleMemory
from image_data import noise_files
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning"),
]
N = 24
END = T.Compose([T.PILToTensor(), T.ConvertImageDtype(torch.float), T.Normalize([0.5] * 3, [0.25] * 3)])
TRAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return noise_files(tmp_path_factory.mktemp("pictures"), [(90 + i, 120) for i in range(N)], quality=70)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each stack that is a row waits; and loaders make batches of any size in place."""
    monkeypatch.setattr("gofast._loader.stacking._LEAST_BYTES", 1)
    made, own = list[bool](), lazy_samples.stack_later

    def noted(*given: Any) -> Pending | None:
        pending = own(*given)
        made.append(pending is not None)
        return pending

    monkeypatch.setattr(lazy_samples, "stack_later", noted)
    return made


def crops(image: Any) -> Any:
    return torch.stack([END(crop) for crop in T.TenCrop(48)(T.Resize(64)(image))])


def views(image: Any) -> Any:
    return torch.stack([TRAIN(image), TRAIN(image)])


def kept_crops(image: Any) -> Any:
    parts = [END(crop) for crop in T.FiveCrop(40)(image)]
    return torch.stack(parts), parts[2]


def twice(image: Any) -> Any:
    part = TRAIN(image)
    return torch.stack([part, part]), torch.stack([part, TRAIN(image)])


def written(image: Any) -> Any:
    parts = [TRAIN(image), TRAIN(image)]
    parts[1][:, 2:9, 3:5] = 0.5
    return torch.stack(parts)


def changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda image: change(crops(image))


def boxed(stack: Any) -> Any:
    stack[:, :, 1:3, 2:6] = 0.25
    return stack


def cut_out(stack: Any) -> Any:
    stack[..., 2:4, 3:5] = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    return stack


def cut_off(stack: Any) -> Any:
    stack[1:3, :1, 2:6] = 0.5
    stack[1:3, :1, 2:6] = torch.ones(4, stack.shape[3])
    return stack


ROWS: dict[str, Callable[[Any], Any]] = {
    "crops": crops,
    "views": views,
    "a crop is kept, too": kept_crops,
    "twice": twice,
    "written to before": written,
    "written to": changed(boxed),
    "written to all": changed(cut_out),
    "written to some": changed(cut_off),
    "looked at": changed(lambda x: (x, float(x.sum()))),
    "in place": changed(lambda x: x.mul_(2)),
    "normalised": changed(lambda x: T.Normalize([0.5] * 3, [0.5] * 3)(x)),
    "a part": changed(lambda x: x[3]),
    "pickled": changed(lambda x: pickle.loads(pickle.dumps(x))),
    "copied": changed(lambda x: (copy.deepcopy(x), x.clone(), x)),
    "flat": changed(lambda x: x.view(-1, 48, 48)),
    "without gradients": torch.inference_mode()(crops),
}


class Own(Dataset[Any]):
    """It may keep some rows."""

    def __init__(self, files: list[Path], row: Callable[[Any], Any], keep: bool) -> None:
        self.files, self.row, self.keep, self.kept = files, row, keep, list[Any]()

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        row = self.row(Image.open(self.files[index]).convert("RGB"))
        if self.keep and index % 5 == 0:
            self.kept.append(row)
        return row, index


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("row", ROWS)
def test_epochs_are_torchs(files: list[Path], later: list[bool], row: str, keep: bool) -> None:
    epochs, kept = [], []
    for kind in (DataLoader, gofast.DataLoader):
        dataset = Own(files, ROWS[row], keep)
        torch.manual_seed(3)
        made = []
        for _ in range(3):
            for rows, labels in kind(dataset, 5, shuffle=True):
                made.append([copy.deepcopy(rows), labels])
                for one in rows if isinstance(rows, list) else [rows]:
                    if not one.is_inference():
                        one.zero_()  # what the dataset keeps is its own
        epochs.append(made)
        kept.append(copy.deepcopy(dataset.kept))
    assert difference(*epochs) == ""
    assert difference(*kept) == ""
    if row == "crops" and not keep:
        assert later.count(True) > 1.5 * N


def test_crops_lie_in_the_batch(
    files: list[Path], later: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    placed, batch = list[bool](), SampleMemory.batch
    begun, end = list[bool](), Pending.end

    def ended(self: Pending) -> bool:
        if isinstance(self.program, PendingStack):
            begun.append(self.making is not None)
        return end(self)

    monkeypatch.setattr(Pending, "end", ended)

    def noted(self: SampleMemory, rows: Any) -> Any:
        made = batch(self, rows)
        placed.append(made is not None)
        return made

    monkeypatch.setattr(SampleMemory, "batch", noted)
    for _ in gofast.DataLoader(Own(files, crops, keep=False), 4):
        pass
    assert placed == [False] + [True] * 5
    assert later[-16:] == [True] * 16
    assert any(begun)


def plane(stack: Any) -> Any:
    return stack[:, 1, 5].tolist()


def test_what_is_begun_ends(files: list[Path], later: list[bool]) -> None:
    """A child makes it again, and it may be dropped."""
    found = list[Any]()

    def row(image: Any) -> Any:
        made: Any = crops(image)
        pending = vars(made).get("_pending")
        if pending is None or len(found) == 3:
            return made
        assert isinstance(pending.program, PendingStack) and pending.place is not None
        said = answer_of_child(functools.partial(plane, made))
        found.append((said, made + 0))
        again = crops(image)
        del made
        return again

    gc.collect()
    waiting = Held.waiting
    for _ in gofast.DataLoader(Own(files, row, keep=False), 4):
        pass
    assert len(found) == 3
    assert [said for said, _ in found] == [plane(one) for _, one in found]
    gc.collect()
    assert Held.waiting == waiting
