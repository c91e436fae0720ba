"""Torch's own threads stay out of the engine's way, and are there again afterwards."""

from __future__ import annotations

import threading

import pytest
import torch

from gofast._openmp import alone


def test_this_thread_alone_and_only_within() -> None:
    before = torch.get_num_threads()
    others: list[int] = []
    with alone():
        assert torch.get_num_threads() == 1
        other = threading.Thread(target=lambda: others.append(torch.get_num_threads()))
        other.start()
        other.join()
    assert others == [before]
    assert torch.get_num_threads() == before


def test_restored_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ValueError, match="sampler"), alone():
        raise ValueError("sampler")
    assert torch.get_num_threads() == before
