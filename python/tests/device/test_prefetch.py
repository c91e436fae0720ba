"""gofast.prefetch: any loader's batches, on a device."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_sequence
from torchvision import tv_tensors

import gofast
from gofast._device import device as devices
from gofast._device import mover
from same import difference
from standin import MANUAL, StandIn

SMALL = mover.SMALL_BYTES


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    name: str = "a"


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any


class Owner(collections.UserDict[str, Any]):
    """A mapping with an attribute of its own."""

    extra = "none"


def moved(standin: StandIn, batch: Any, **options: Any) -> Any:
    [there] = gofast.prefetch([batch], "cuda", **options)
    return there


X = torch.arange(60.0).reshape(3, 4, 5)
BIG = torch.arange(SMALL * 2, dtype=torch.int32).reshape(2, 64, -1)
TENSORS = {
    "float": X,
    "0-dim": torch.tensor(3.5),
    "bool": X > 7,
    "uint8": X.to(torch.uint8),
    "float16": X.half(),
    "bfloat16": X.bfloat16(),
    "complex": torch.complex(X, -X),
    "nan": torch.tensor([float("nan"), -0.0, float("inf")]),
    "transposed": X.transpose(0, 2),
    "slice": X[:, ::2],
    "part": X[1:, 1:3],
    "channels last": torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "expanded": torch.arange(3.0)[:, None].expand(3, 4),
    "one expanded": torch.tensor(2.0).expand(7),
    "big": BIG,
    "big transposed": BIG.transpose(1, 2),
    "big slice": BIG[:, :, ::3],
    "of 64 KiB": torch.arange(SMALL, dtype=torch.int64).to(torch.uint8),
    "of a byte more": torch.arange(SMALL + 1, dtype=torch.int64).to(torch.uint8),
    "row of one": torch.rand(1, 5).t(),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(standin: StandIn, name: str) -> None:
    tensor = TENSORS[name]
    want = torch.empty_like(tensor).copy_(tensor)  # as `to` would give it
    assert not difference(standin.look(moved(standin, tensor)), want)


def test_all_of_them_together(standin: StandIn) -> None:
    """What is copied to be sent stays until then."""
    came = moved(standin, TENSORS)
    for name, tensor in TENSORS.items():
        assert not difference(standin.look(came[name]), torch.empty_like(tensor).copy_(tensor)), name


@pytest.mark.parametrize("ahead", [0, 1, 2, 5])
def test_nested_batches(standin: StandIn, ahead: int) -> None:
    a, b = torch.arange(5), torch.rand(3)
    owner = Owner(x=a)
    owner.extra = "own"
    batch = {
        "list": [a, (b, "text", None, 3)],
        "pair": Pair(a, {"deep": [b]}),
        "frozen": Frozen(a),
        "slots": Slotted(b),
        "owner": owner,
        "order": collections.OrderedDict(z=a, a=b),
        "default": collections.defaultdict(list, x=a),
        "proxy": types.MappingProxyType({"x": b}),
        "bytes": b"bytes",
        "range": range(3),
        "deque": collections.deque([1, 2], maxlen=2),
        "class": Frozen,
    }
    [got] = gofast.prefetch([batch], "cuda", ahead=ahead)
    assert list(got) == list(batch)
    for ours, theirs in (
        (got["list"][0], a),
        (got["list"][1][0], b),
        (got["pair"].left, a),
        (got["pair"].right["deep"][0], b),
        (got["frozen"].x, a),
        (got["slots"].x, b),
        (got["owner"]["x"], a),
        (got["order"]["z"], a),
        (got["default"]["x"], a),
        (got["proxy"]["x"], b),
    ):
        assert torch.equal(standin.look(ours), theirs)
    assert got["list"][1][1:] == ("text", None, 3) and got["frozen"].name == "a"
    assert type(got["pair"]) is Pair and type(got["frozen"]) is Frozen and type(got["slots"]) is Slotted
    assert type(got["owner"]) is Owner and got["owner"].extra == "own" and owner["x"] is a
    assert type(got["proxy"]) is types.MappingProxyType
    assert type(got["default"]) is collections.defaultdict and got["default"].default_factory is list
    for name in ("bytes", "range", "deque", "class"):
        assert got[name] is batch[name]
    assert torch.equal(batch["list"][0], a) and batch["frozen"].x is a  # the loader's own stays


def test_what_torch_moves_by_itself(standin: StandIn) -> None:
    """On this device that is no change at all."""
    packed = pack_sequence([torch.rand(3), torch.rand(2)])
    others = {
        "image": tv_tensors.Image(torch.zeros(3, 4, 4, dtype=torch.uint8)),
        "grad": torch.rand(3, requires_grad=True),
        "sparse": torch.eye(3).to_sparse(),
        "empty": torch.empty(0, 3),
        "parameter": torch.nn.Parameter(torch.rand(2)),
        "conj": torch.complex(X, X).conj(),
        "packed": packed,
    }
    got = moved(standin, others)
    for name, value in others.items():
        assert type(got[name]) is type(value), name
    assert isinstance(got["packed"], PackedSequence) and got["grad"].requires_grad
    assert got["empty"].shape == (0, 3)
    assert standin.calls("cuMemcpyHtoDAsync_v2") == 0


def test_small_tensors_share_a_copy(standin: StandIn) -> None:
    batch = [torch.full((i + 1,), i) for i in range(20)]
    came = moved(standin, [*batch, BIG, TENSORS["of 64 KiB"]])
    assert standin.calls("cuMemcpyHtoDAsync_v2") == 2
    for ours, theirs in zip(came, batch, strict=False):
        assert torch.equal(standin.look(ours), theirs)


def test_a_change_of_one_small_tensor_is_not_seen_as_one_of_another(standin: StandIn) -> None:
    one, two = moved(standin, [torch.zeros(3), torch.zeros(3)])
    versions = one._version, two._version
    one.add_(1)
    assert (one._version, two._version) == (versions[0] + 1, versions[1])
    assert one.untyped_storage().data_ptr() == two.untyped_storage().data_ptr()


class Loader:
    """A loader with attributes, a length and an epoch."""

    def __init__(self, n: int) -> None:
        self.n, self.epoch, self.pulled, self.color = n, 0, 0, "red"

    def __len__(self) -> int:
        return self.n

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self) -> Iterator[torch.Tensor]:
        for i in range(self.n):
            self.pulled += 1
            yield torch.tensor([100 * self.epoch + i])


def test_it_is_a_loader(standin: StandIn) -> None:
    inner = Loader(5)
    loader = gofast.prefetch(inner, "cuda")
    assert len(loader) == 5 and loader.color == "red" and repr(loader).endswith("'cuda')")
    loader.color = "blue"
    assert inner.color == "blue"
    with pytest.raises(AttributeError):
        _ = loader.no_such
    for epoch in range(4):
        loader.set_epoch(epoch)
        came = [standin.look(batch).item() for batch in loader]
        assert came == [100 * epoch + i for i in range(5)]


def test_the_epoch_of_the_sampler(standin: StandIn) -> None:
    sampler = torch.utils.data.DistributedSampler(range(8), 2, 0)  # type: ignore[arg-type]
    loader = gofast.prefetch(torch.utils.data.DataLoader(range(8), sampler=sampler), "cuda")  # type: ignore[arg-type]
    loader.set_epoch(3)
    assert sampler.epoch == 3
    assert sorted(standin.look(batch).item() for batch in loader) == sorted(sampler)


@pytest.mark.parametrize("ahead", [0, 1, 2, 9])
def test_how_many_are_asked_for_early(standin: StandIn, ahead: int) -> None:
    inner = Loader(6)
    batches = iter(gofast.prefetch(inner, "cuda", ahead=ahead))
    assert inner.pulled == 0
    for i in range(6):
        assert standin.look(next(batches)).item() == i
        assert inner.pulled == min(i + 1 + ahead, 6)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(batches)


@pytest.mark.parametrize("ahead", [0, 1, 4])
def test_errors_come_in_their_turn(standin: StandIn, ahead: int) -> None:
    class Failing:
        def __init__(self) -> None:
            self.i = 0

        def __iter__(self) -> Failing:
            return self

        def __next__(self) -> torch.Tensor:
            self.i += 1
            if self.i == 3:
                raise KeyError("the third")
            if self.i == 6:
                raise StopIteration
            return torch.tensor(self.i)

    batches = iter(gofast.prefetch(Failing(), "cuda", ahead=ahead))
    came: list[Any] = []
    while True:
        try:
            came.append(standin.look(next(batches)).item())
        except KeyError as error:
            came.append(error.args[0])
        except StopIteration:
            break
    assert came == [1, 2, "the third", 4, 5]


@pytest.fixture
def pinned(standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """A tensor of 256 KiB that is pinned."""
    monkeypatch.setattr(
        torch.Tensor,
        "is_pinned",
        lambda self: bool(standin.c.standin_is_pinned(ctypes.c_void_p(self.data_ptr()))),
    )
    iter(gofast.prefetch([], "cuda"))
    tensor = torch.arange(1 << 16, dtype=torch.int32)
    context = ctypes.c_void_p()
    standin.c.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    standin.c.cuCtxPushCurrent_v2(context)
    pin = standin.c.cuMemHostRegister_v2(
        ctypes.c_void_p(tensor.data_ptr()), ctypes.c_size_t(tensor.nbytes), 1
    )
    standin.c.cuCtxPopCurrent_v2(ctypes.byref(context))
    standin.c.cuDevicePrimaryCtxRelease_v2(0)
    assert pin == 0
    standin.may_leak = True  # it stays pinned
    return tensor


def test_pinned_memory_is_copied_as_it_lies_and_kept(standin: StandIn, pinned: torch.Tensor) -> None:
    standin.mode = MANUAL
    device = devices.all_opened()[0]
    batches = iter(gofast.prefetch([[pinned, pinned[1000:40000]]], "cuda", ahead=0))
    came = next(batches)
    del batches
    assert standin.c.standin_staged() == 0 and device.stats()["staged_bytes"] == 0
    assert len(device._kept) == 1  # the device has not read it
    assert torch.equal(standin.look(came[0]), pinned)
    assert torch.equal(standin.look(came[1]), pinned[1000:40000])
    moved(standin, torch.zeros(2))
    assert len(device._kept) == 0


@pytest.mark.parametrize("ahead", [1, 3])
def test_pinned_memory_that_a_loader_fills_again(standin: StandIn, pinned: torch.Tensor, ahead: int) -> None:
    standin.mode = MANUAL

    def same_buffer() -> Iterator[torch.Tensor]:
        for i in range(8):
            yield pinned.fill_(i)

    held = list(gofast.prefetch(same_buffer(), "cuda", ahead=ahead))
    assert all(standin.look(batch).eq(i).all() for i, batch in enumerate(held))


def test_the_loaders_own_memory_may_be_written_at_once(standin: StandIn) -> None:
    """What is not pinned has been taken when the batch is asked for."""
    standin.mode = MANUAL
    buffer = torch.zeros(1 << 16)

    def same_buffer() -> Iterator[list[torch.Tensor]]:
        for i in range(8):
            buffer.fill_(i)
            yield [buffer, buffer[:3]]

    held = list(gofast.prefetch(same_buffer(), "cuda"))
    for i, (large, small) in enumerate(held):
        assert standin.look(large).eq(i).all() and standin.look(small).eq(i).all()


def test_more_than_the_staging_holds(standin: StandIn) -> None:
    """It is waited for then, as it must be: whoever made the batches may use their memory again."""
    standin.mode = MANUAL
    batches = [torch.full((3 << 20,), i, dtype=torch.uint8) for i in range(25)]
    batches.append(torch.full((20 << 20,), 77, dtype=torch.uint8))
    held = list(gofast.prefetch(batches, "cuda"))
    stats = devices.all_opened()[0].stats()
    assert stats["staged_bytes"] == stats["bytes"] == (75 + 20) << 20 and stats["pageable_bytes"] == 0
    assert standin.c.standin_syncs() == 1
    assert stats["copy_seconds"] == 0  # filling the staging is no time of the device's
    for ours, theirs in zip(held, batches, strict=True):
        assert torch.equal(standin.look(ours), theirs)


def test_gofasts_own_loader_may_be_inside(standin: StandIn) -> None:
    array = gofast.ArrayDataset(torch.rand(20, 3), torch.arange(20))
    loader = gofast.prefetch(gofast.DataLoader(array, 4, num_workers=2), "cuda")
    for _ in range(3):
        came = [standin.seen(batch) for batch in loader]
        assert torch.equal(torch.cat([y for _, y in came]), torch.arange(20))


def test_the_state_is_behind_what_arrived(standin: StandIn) -> None:
    """What was asked for ahead comes again; batches are known as they arrived."""
    numbers = torch.arange(20)
    dataset = gofast.ArrayDataset(numbers.float()[:, None].numpy(), numbers.numpy())
    there = gofast.prefetch(gofast.DataLoader(dataset, 2), "cuda", ahead=2)
    iterator = iter(there)
    held = [next(iterator) for _ in range(5)]
    assert there.state_dict()["epoch"]["given"] == 5
    assert [there.state_after(batch)["epoch"]["given"] for batch in held] == [1, 2, 3, 4, 5]
