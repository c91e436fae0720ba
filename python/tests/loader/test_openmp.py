"""Torch's own threads stay out of the engine's way, and are there again afterwards."""

from __future__ import annotations

import threading

import pytest
import torch

from gofast._core.openmp import alone


def threads_elsewhere() -> int:
    """What torch uses in a new thread: an earlier test may have chosen another number for this one."""
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    other.start()
    other.join()
    return seen[0]


def test_this_thread_alone_and_only_within() -> None:
    before, elsewhere = torch.get_num_threads(), threads_elsewhere()
    with alone():
        assert torch.get_num_threads() == 1
        assert threads_elsewhere() == elsewhere
    assert torch.get_num_threads() == before


def test_restored_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="sampler"), alone():
        raise ValueError("sampler")
    assert torch.get_num_threads() == before
