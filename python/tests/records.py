"""TFRecord files and tf.train.Example, written and read in plain Python: knows nothing of gofast."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Value = Sequence[int] | Sequence[float] | Sequence[bytes]


def _table() -> list[int]:
    made = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        made.append(value)
    return made


_TABLE = _table()


def masked(data: bytes) -> int:
    """The checksum of data as a file has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(records: Iterable[bytes]) -> bytes:
    """A file of these records."""
    made = b""
    for data in records:
        length = struct.pack("<Q", len(data))
        made += length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))
    return made


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def field(number: int, data: bytes) -> bytes:
    """A field with a length."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values: Value) -> bytes:
    """A Feature; without values, of whole numbers."""
    if values and isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))  # type: ignore[arg-type]
    if values and isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))))  # type: ignore[arg-type]


def example(features: Mapping[str, Value]) -> bytes:
    """An Example."""
    entries = (field(1, name.encode()) + field(2, feature(v)) for name, v in features.items())
    return field(1, b"".join(field(1, entry) for entry in entries))


class Broken(Exception):
    """These bytes are no message."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value & (1 << 64) - 1, at
    raise Broken


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """The fields of a message: number, wire type, and the number or the bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire, value = tag >> 3, tag & 7, None
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 2, 5):
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        if number == 0 or at > len(data) or wire not in (0, 1, 2, 5):
            raise Broken
        yield number, wire, value


def parsed(data: bytes) -> dict[bytes, list[Any]]:
    """What protobuf's rules make of an Example: each feature's values, where it has a list."""
    made: dict[bytes, list[Any]] = {}
    for number, wire, features in fields(data):
        for entry_number, entry_wire, entry in fields(features) if (number, wire) == (1, 2) else ():
            if (entry_number, entry_wire) != (1, 2):
                continue
            parts = {1: b"", 2: b""}
            for part, part_wire, value in fields(entry):
                if part in parts and part_wire == 2:
                    parts[part] = parts[part] + value if part == 2 else value  # messages are merged
            made[parts[1]] = _values(parts[2])
    return made


def _values(data: bytes) -> list[Any]:
    made: list[Any] = []
    last = 0
    for kind, wire, values in fields(data):
        if wire != 2 or kind not in (1, 2, 3):
            continue
        if kind != last:
            made, last = [], kind  # of several kinds, the last counts
        for number, how, value in fields(values):
            if number != 1:
                continue
            if kind == 1 and how == 2:
                made.append(value)
            elif kind == 2 and how in (2, 5):
                if len(value) % 4:
                    raise Broken
                made += struct.unpack(f"<{len(value) // 4}f", value)
            elif kind == 3 and how == 0:
                made.append(_signed(value))
            elif kind == 3 and how == 2:
                at = 0
                while at < len(value):
                    one, at = _varint(value, at)
                    made.append(_signed(one))
    return made


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
