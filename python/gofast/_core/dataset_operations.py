"""What Go does for datasets of any kind: it joins and frees them, and says what numbers are made of bytes."""

from __future__ import annotations

from typing import TypedDict

from .operation import Call, Object


class Dataset(Object):
    """A dataset of the core's: its view, its samples, and how many int32 it draws for each; a sample's shape,
    and the type of its values."""

    length: int
    record_words: int
    shape: list[int]
    type: str


class NumbersRequest(TypedDict):
    """What is made of numbers; see numbers.Spec."""

    scale: str
    mean: list[float] | None
    std: list[float] | None
    dtype: str


class Join(TypedDict):
    """Datasets end to end, seen through a map."""

    datasets: list[int]
    map: int
    length: int


class Made(NumbersRequest):
    """What numbers are made of stored ones, by the words of a plan; see numbers.Spec."""

    channels: int
    last: bool


class Codes(Made):
    """Where the results of all 256 bytes go, channels x 256 of them."""

    address: int


codes: Call[Codes, None] = Call("codes")
join: Call[Join, Dataset] = Call("join")
free: Call[Object, None] = Call("free")
