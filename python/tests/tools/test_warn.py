"""Where warnings point, and how often they are given."""

from __future__ import annotations

import warnings

import pytest
import torch

from gofast import errors
from gofast._core import warn


def test_a_warning_points_at_the_users_line() -> None:
    with pytest.warns(errors.GofastWarning, match="settle it") as caught:
        warn.warn("settle it so")
    assert caught[0].filename == __file__


def test_frames_of_torch_are_passed_over() -> None:
    loader = torch.utils.data.DataLoader([1, 2], collate_fn=lambda rows: warn.warn("settle it so"))
    with pytest.warns(errors.GofastWarning) as caught:
        next(iter(loader))
    assert caught[0].filename == __file__


def test_a_key_is_said_once() -> None:
    with pytest.warns(errors.GofastWarning):
        warn.warn("settle it so", once="test_a_key_is_said_once")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn.warn("settle it so", once="test_a_key_is_said_once")
