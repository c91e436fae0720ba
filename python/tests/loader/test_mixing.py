"""MixUp and CutMix in a collate function: torchvision's own numbers, in memory that is used again."""

from __future__ import annotations

import copy
import functools
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import default_collate
from torchvision import tv_tensors
from torchvision.transforms import v2

import fresh
import gofast
from gofast._loader import mixup
from same import difference

KINDS: dict[str, Callable[[], Any]] = {
    "mixup": lambda: v2.MixUp(alpha=0.4, num_classes=7),
    "cutmix": lambda: v2.CutMix(alpha=1.0, num_classes=7),
    "choice": lambda: v2.RandomChoice([v2.MixUp(num_classes=7), v2.CutMix(num_classes=7)]),
}


def batch(count: int, side: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    images = torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(count)).to(dtype)
    return images, torch.arange(count) % 7


def both(transform: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    torch.manual_seed(5)
    theirs = [transform(images, labels) for _ in range(4)], torch.rand(1)
    torch.manual_seed(5)
    with mixup.recycled(mixup.mixers(transform)):
        ours = [transform(images, labels) for _ in range(4)], torch.rand(1)
    return ours, theirs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count, side", [(3, 200), (64, 40), (1, 400), (700, 12)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_same_as_torchvision(kind: str, count: int, side: int, dtype: torch.dtype) -> None:
    images, labels = batch(count, side, dtype)
    before = images.clone()
    ours, theirs = both(KINDS[kind](), images, labels)
    assert difference(ours, theirs) == ""
    assert torch.equal(images, before)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_made_meanwhile_has_torchvisions_method(again: Callable[[Any], Any]) -> None:
    images, labels = batch(64, 48)
    for make in (KINDS["mixup"], KINDS["cutmix"]):
        one = make()
        with mixup.recycled(mixup.mixers(one)):
            copied = again(one)
            assert vars(one).keys() - vars(make()).keys()  # ours is there
        assert vars(copied).keys() == vars(one).keys() == vars(make()).keys()
        ours, theirs = both(copied, images, labels)
        assert difference(ours, theirs) == ""


def test_cutmix_of_bytes() -> None:
    images = torch.randint(0, 256, (64, 3, 81, 79), dtype=torch.uint8)
    ours, theirs = both(KINDS["cutmix"](), images, torch.arange(64) % 7)
    assert difference(ours, theirs) == ""


@pytest.mark.parametrize(
    "kind, params",
    [
        ("mixup", {"lam": torch.tensor(0.25)}),
        ("mixup", {"lam": 1}),
        ("cutmix", {"box": (-9, 3, 70, 20), "lam_adjusted": 0.5}),
        ("cutmix", {"box": (9, 3, 7, 20), "lam_adjusted": 0.5}),
        ("cutmix", {"box": torch.tensor([1, 2, 9, 10]), "lam_adjusted": 0.5}),
    ],
)
def test_parameters_of_a_subclass(kind: str, params: dict[str, Any]) -> None:
    images, labels = batch(64, 48)
    base = v2.MixUp if kind == "mixup" else v2.CutMix

    class Own(base):  # type: ignore[misc,valid-type]
        def make_params(self, flat_inputs: Any) -> dict[str, Any]:
            return {"labels": labels, "batch_size": 64, **params}

        _get_params = make_params  # torchvision 0.20

    ours, theirs = both(Own(num_classes=7), images, labels)
    assert difference(ours, theirs) == ""


def test_it_is_ours_that_mixes(monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = batch(64, 48)
    used: list[Any] = []
    own = mixup._memory.tensor
    monkeypatch.setattr(mixup._memory, "tensor", lambda like: used.append(like) or own(like))
    for name in KINDS:
        both(KINDS[name](), images, labels)
    assert len(used) == 12


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_unusual_batches_are_torchvisions(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixup._memory, "tensor", lambda like: pytest.fail("mixed here"))
    images, labels = batch(64, 48)
    transform = KINDS[kind]()
    for unusual in (
        images.to(memory_format=torch.channels_last),
        images[:, :, :10, :10],
        batch(64, 200)[0][:, :1].contiguous().to(memory_format=torch.channels_last),
        images.double(),
        tv_tensors.Image(images),
        batch(8, 16)[0].repeat(8, 1, 1, 1),
        images.clone().requires_grad_(),
    ):
        ours, theirs = both(transform, unusual, labels)
        assert difference(ours[1], theirs[1]) == ""
        for (mixed, _), (wanted, _) in zip(ours[0], theirs[0], strict=True):
            assert type(mixed) is type(wanted) and torch.equal(mixed, wanted)
            assert mixed.stride() == wanted.stride()


def test_wrong_batches_raise_the_same() -> None:
    images, labels = batch(64, 48)
    mix = v2.MixUp(num_classes=7)
    for wrong in ((images[0], labels), (images, labels[:5]), (images, labels.float()[None, None])):
        texts = []
        for used in ([mix], []):
            with mixup.recycled(used), pytest.raises(ValueError) as caught:
                mix(*wrong)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


def test_another_formula_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "transform" if "transform" in vars(v2.MixUp) else "_transform"

    def transform(self: Any, inpt: Any, params: Any) -> Any:
        return inpt * params["lam"] if inpt.ndim == 4 else inpt

    monkeypatch.setattr(v2.MixUp, name, transform)
    monkeypatch.setattr(mixup, "_known", weakref.WeakKeyDictionary())
    images, labels = batch(64, 48)
    mix = v2.MixUp(num_classes=7)
    ours, theirs = both(mix, images, labels)
    assert difference(ours, theirs) == ""
    assert mixup._of(v2.MixUp) is None


def test_held_batches_keep_their_values() -> None:
    images, labels = batch(64, 48)
    transform, held = v2.MixUp(num_classes=7), []
    with mixup.recycled([transform]):
        for _ in range(6):
            mixed = transform(images, labels)[0]
            assert mixed.data_ptr() % 64 == 0
            held.append((mixed[3:5], mixed.clone()))  # a view is enough
    for view, wanted in held:
        assert torch.equal(view, wanted[3:5])


def test_memory_is_used_again() -> None:
    images, labels = batch(64, 48)
    transform, places = v2.MixUp(num_classes=7), set()
    with mixup.recycled([transform]):
        for _ in range(10):
            mixed = transform(images, labels)[0]
            places.add(mixed.data_ptr())
    assert len(places) <= 3
    del mixed
    gc.collect()
    assert len(mixup._memory._free) <= mixup._MOST_FREE


def test_torchvisions_classes_stay_as_they_are() -> None:
    own, mix = [dict(vars(kind)) for kind in (v2.MixUp, v2.CutMix)], v2.MixUp(num_classes=7)
    before = dict(vars(mix))
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with mixup.recycled([mix]):
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(10)
    with mixup.recycled([mix]):
        assert type(mix) is v2.MixUp and vars(mix) != before
        assert [dict(vars(kind)) for kind in (v2.MixUp, v2.CutMix)] == own
    done.set()
    thread.join()
    assert vars(mix) == before


def test_where_a_function_has_them() -> None:
    mix, cut, both_of = KINDS["mixup"](), KINDS["cutmix"](), KINDS["choice"]()
    within = lambda rows: mix(rows)  # noqa: E731

    class Mixing:
        def __init__(self) -> None:
            self.steps = [cut]

        def __call__(self, rows: Any) -> Any:
            return rows

    assert mixup.mixers(within) == [mix]
    assert mixup.mixers(functools.partial(lambda rows, more: more, more=both_of)) == both_of.transforms
    assert mixup.mixers(Mixing()) == mixup.mixers(Mixing().__call__) == [cut]
    assert mixup.mixers(default_collate) == []


def test_objects_that_nobody_may_look_at() -> None:
    """A loader of a dataset of one's own raised what they raise."""

    class Mixing:
        def __init__(self) -> None:
            self.gone = weakref.proxy(Rows())  # as of a trainer
            self.mix = KINDS["mixup"]()

        def __call__(self, rows: Any) -> Any:
            return default_collate(rows)

    class Closed:
        @property
        def __dict__(self) -> Any:  # type: ignore[override]
            raise OSError

        def __call__(self, rows: Any) -> Any:
            return default_collate(rows)

    mixing = Mixing()
    assert mixup.mixers(mixing) == [mixing.mix]
    for function in (mixing, Closed()):
        assert len([*gofast.DataLoader(Rows(torch.ones(8)), 4, collate_fn=function)]) == 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_another_default_type(dtype: torch.dtype) -> None:
    """The trial of torchvision's arithmetic wrote past the end of a batch of two bytes a number."""
    code = f"""
import torch
from torchvision.transforms import v2
from gofast._loader import mixup
torch.set_default_dtype({dtype})
for kind in (v2.MixUp, v2.CutMix):
    for _ in range(100):
        mixup._known.clear()
        assert mixup._of(kind) is not None
"""
    fresh.run(["-c", code], check=True)


class Rows(torch.utils.data.Dataset[Any]):
    """A dataset of somebody's own."""

    def __init__(self, *columns: torch.Tensor) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, index: int) -> Any:
        return tuple(column[index] for column in self.columns)


@pytest.mark.parametrize("kind_of_rows", [gofast.ArrayDataset, Rows])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_in_a_loader(kind_of_rows: Any, num_workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    images, labels = batch(40, 100)
    mix = KINDS["choice"]()
    used, own = list[Any](), mixup._memory.tensor
    monkeypatch.setattr(mixup._memory, "tensor", lambda like: used.append(like) or own(like))

    def mixed(rows: Any) -> Any:
        return mix(*default_collate(rows))

    made = []
    for kind in (gofast.DataLoader, torch.utils.data.DataLoader):
        data: Any = kind_of_rows(images, labels) if kind is gofast.DataLoader else None
        data = data if data is not None else torch.utils.data.TensorDataset(images, labels)
        torch.manual_seed(8)
        loader = kind(data, batch_size=12, shuffle=True, num_workers=num_workers, collate_fn=mixed)
        made.append([*loader, *loader, torch.rand(1)])
    assert difference(made[0], made[1]) == ""
    # Twice 4 batches, of which the small last one is torchvision's. torch's workers mix elsewhere.
    assert len(used) == (0 if num_workers and kind_of_rows is Rows else 6)


def test_a_method_that_the_function_sets_or_deletes_stays_so() -> None:
    mix, other = v2.MixUp(num_classes=7), v2.MixUp(num_classes=7)
    found = mixup._of(v2.MixUp)
    assert found is not None
    with mixup.recycled([mix, other]):
        setattr(mix, found[0], print)
        delattr(other, found[0])
    assert vars(mix)[found[0]] is print and found[0] not in vars(other)
