"""What a stack says of a sample: its stage, and whether it waits for data, however the code is written."""

from __future__ import annotations

import io
import mmap
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from PIL.Image import open as open_image  # taken by its name
from torch.utils.data import ConcatDataset, DataLoader, Dataset, IterableDataset, Subset, default_collate
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast._doctor import stacks, stages
from gofast._doctor.stacks import Stacks, StackSamples

seen: list[tuple[str, bool]] = []
known: dict[Any, str] = {}


def here(*_: Any) -> Any:
    """Notes what the caller's stack says."""
    calls, root = stages.within(sys._getframe(1), False)
    if root is not None:
        seen.append(
            ("collate", False) if "collate_fn" in stages.line_of(root) else stages.stage_of(calls, known)
        )
    return None


imread = here  # as if it had no frame of its own, like cv2's


class Plain(Dataset[Any]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        here()
        return torch.zeros(2)


class Decodes(Plain):
    def _decode_row(self) -> None:
        here()

    def __getitem__(self, index: int) -> Any:
        self._decode_row()
        return 0


class Augments(Plain):
    @staticmethod
    def augment() -> None:
        here()

    def __getitem__(self, index: int) -> Any:
        self.augment()
        return 0


class Step:
    def __call__(self, sample: Any) -> Any:
        here()
        return sample


class Kept(Plain):
    def __init__(self, **callables: Callable[[Any], Any]) -> None:
        self.__dict__.update(callables)

    def __getitem__(self, index: int) -> Any:
        for function in vars(self).values():
            function(torch.zeros(3, 8, 8))
        return 0


class Reads(Plain):
    def _read_all(self) -> None:
        here()

    def __getitem__(self, index: int) -> Any:
        self._read_all()
        return 0


class Map(mmap.mmap):
    def __getitem__(self, key: Any) -> Any:
        here()
        return super().__getitem__(key)


class Mapped(Plain):
    def __getitem__(self, index: int) -> Any:
        with open(__file__, "rb") as file, Map(file.fileno(), 0, access=mmap.ACCESS_READ) as rows:
            return rows[0]


class Throttled(io.BytesIO):
    def read(self, size: Any = -1) -> Any:
        here()
        return super().read(size)


class Opens(Plain):
    def __init__(self) -> None:
        file = io.BytesIO()
        Image.fromarray(np.zeros((64, 64, 3), np.uint8)).save(file, "PNG")
        self.file = file.getvalue()

    def __getitem__(self, index: int) -> Any:
        with open_image(Throttled(self.file)) as picture:
            return np.asarray(picture.resize((8, 8)))


class ReadsByCv2(Plain):
    def __getitem__(self, index: int) -> Any:
        return 0 if imread("a.png") is None else 1


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        for _ in range(4):
            here()
            yield 0


def collate(samples: list[Any]) -> Any:
    here()
    return samples


@pytest.mark.parametrize(
    ("dataset", "stage", "reading"),
    [
        (Plain(), "own", False),
        (Stream(), "own", False),
        (Decodes(), "decode:_decode_row", False),
        (ReadsByCv2(), "decode:imread", True),
        (Opens(), "decode", True),
        (Kept(loader=lambda path: here()), "decode", False),
        (Augments(), "transform:augment", False),
        (Kept(train_transform=Step()), "transform:Step", False),
        (Subset(ConcatDataset([Kept(transform=Step())]), [0, 1]), "transform:Step", False),
        (
            Kept(transform=T.Compose([T.CenterCrop(4), Step(), T.Lambda(lambda x: x)])),
            "transform:Step",
            False,
        ),
        (Kept(transform=v2.Compose([v2.Identity(), Step()])), "transform:Step", False),
        (Reads(), "own", True),
        (Mapped(), "own", True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Dataset) else str(value),
)
def test_stages(dataset: Any, stage: str, reading: bool) -> None:
    known.clear()
    known.update(stages.codes(dataset))
    seen.clear()
    for _ in DataLoader(dataset, 2, collate_fn=lambda samples: 0):
        pass
    assert seen
    assert set(seen) == {(stage, reading)}


def test_collate_and_what_is_no_fetching() -> None:
    seen.clear()
    here()
    assert seen == []
    for _ in DataLoader(torch.utils.data.TensorDataset(torch.zeros(4)), 2, collate_fn=collate):
        pass
    assert seen == [("collate", False)] * 2


class Late(Plain):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.1 if index == 2 else 0.01)
        return torch.zeros(2)


def test_time_goes_where_it_is_seen() -> None:
    stacks.made[:] = 0, 0
    loader: Any = DataLoader(Late(), 2, collate_fn=stacks.Counted(default_collate))
    with Stacks(loader.dataset) as looking:
        for _ in loader:
            pass
    found = looking.seen
    took, blocked = found.stages["own"]
    assert stacks.made == [2, 4]
    assert set(found.stages) <= {"own", "collate"}  # a busy machine may give a look to the 50 us of collate
    assert took > 0.08
    assert blocked > 0.5 * took
    assert "test_doctor_stages.py:" in found.hot
    assert " in __getitem__ (" in found.hot


class Looked(Plain):
    """Looks at its own samples: a late look must not make one slow that may have come just before it."""

    looks: Stacks

    def __init__(self, often: int) -> None:
        self.often = often

    def __getitem__(self, index: int) -> Any:
        for _ in range(self.often):
            time.sleep(0.01)
            self.looks.look(sys._getframe())
        return 0


@pytest.mark.parametrize(("often", "slow"), [(1, 0), (2, 4)])
def test_a_sample_is_as_long_as_it_was_seen(often: int, slow: int) -> None:
    dataset = Looked(often)
    dataset.looks = Stacks(None)
    for _ in DataLoader(dataset, 2):
        pass
    dataset.looks._end_sample()
    assert len(dataset.looks.seen.slow) == slow
    assert sorted(dataset.looks.seen.named) == [*range(slow)]


def test_what_workers_tell_adds_up(tmp_path: Path) -> None:
    one = StackSamples(1, 4, {"own": (1.0, 0.5)}, [0.3], Counter(a=2), 10)
    other = StackSamples(2, 8, {"own": (2.0, 0.0), "read": (1.0, 1.0)}, [0.7], Counter(a=1), 5)
    for at, seen in enumerate((one, other)):
        (tmp_path / f"{at}.seen").write_bytes(pickle.dumps(seen))
    (tmp_path / "2.seen.new").write_bytes(b"half a rep")
    found = stacks.told(str(tmp_path))
    found.slow.sort()
    assert found == StackSamples(3, 12, {"own": (3.0, 0.5), "read": (1.0, 1.0)}, [0.3, 0.7], Counter(a=3), 15)


def test_lazy_pictures_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    Image.new("RGB", (8, 8)).save(path)
    code = type(gofast.open(path)).load.__code__
    assert stages.kind_of(code) == "decode"
    assert stages.kind_of(torchvision.io.decode_image.__code__) == "decode:torchvision"
