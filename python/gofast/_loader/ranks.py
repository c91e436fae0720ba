"""How many ranks there are, which one this process is, and how long each has waited."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

import torch

from .. import errors
from .._core.arguments import whole

if TYPE_CHECKING:
    from torch.distributed.device_mesh import DeviceMesh


def ranks_here() -> tuple[int, int]:
    """How many ranks the process group has, and which this is; 1 and 0 without one."""
    return _of_group() or (1, 0)


def ranks_of(world: Any, rank: Any) -> tuple[int, int]:
    """The same, from a Sampler's arguments.

    Raises:
        OptionError: they do not fit each other, or do not say which rank this is.
    """
    if hasattr(rank, "get_coordinate"):  # a DeviceMesh
        return _of_mesh(world, rank)
    if "auto" in (world, rank):
        if {world, rank} - {"auto", None}:
            raise errors.OptionError(f'num_replicas={world!r}, rank={rank!r}: give both, or "auto" for both')
        found = _of_launcher()
        if found is None:
            raise errors.OptionError(
                '"auto": there is neither a process group nor RANK and WORLD_SIZE: call '
                "torch.distributed.init_process_group first, or start with torchrun; one process alone is "
                "num_replicas=1, rank=0"
            )
        return found
    if world is None and rank is None:
        found = _of_launcher()
        if found is not None and found[0] > 1:
            raise errors.OptionError(
                f'there are {found[0]} ranks here: give rank="auto" for this one\'s part; or num_replicas=1, '
                "rank=0 for all samples, where Accelerate or a Trainer divides them"
            )
        return 1, 0
    if world is None or rank is None:
        raise errors.OptionError(f'num_replicas={world!r}, rank={rank!r}: give both, or rank="auto"')
    world, rank = whole(1)("num_replicas", world), whole(0)("rank", rank)
    if rank >= world:
        raise errors.OptionError(f"rank={rank}, but num_replicas={world}: give 0 to {world - 1}")
    return world, rank


def _of_group() -> tuple[int, int] | None:
    dist = torch.distributed
    return (dist.get_world_size(), dist.get_rank()) if dist.is_available() and dist.is_initialized() else None


def _of_launcher() -> tuple[int, int] | None:
    """What the process group says, else torchrun's variables."""
    found = _of_group()
    if found is not None:
        return found
    try:
        return int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    except (KeyError, ValueError):
        return None


def _of_mesh(world: Any, mesh: DeviceMesh) -> tuple[int, int]:
    where = mesh.get_coordinate()
    if where is None:
        raise errors.OptionError("this process is not in the DeviceMesh")
    rank, size = 0, 1
    for place, length in zip(where, mesh.mesh.shape, strict=True):
        rank, size = rank * length + place, size * length
    if world not in (None, "auto", size):
        raise errors.OptionError(f"num_replicas={world!r}, but the DeviceMesh has {size} ranks")
    return size, rank


def waits_of_ranks(epoch: dict[str, Any]) -> list[dict[str, Any]]:
    """What each rank's loader counted in an epoch, the longest wait first. A collective call."""
    world, rank = ranks_here()
    own = {"rank": rank, "host": socket.gethostname()}
    own.update((name, epoch[name]) for name in ("batches", "seconds", "wait_seconds"))
    ranks: list[Any] = [own]
    if world > 1:
        ranks = [None] * world
        torch.distributed.all_gather_object(ranks, own)
    return sorted(ranks, key=lambda one: -one["wait_seconds"])
