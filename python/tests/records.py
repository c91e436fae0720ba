"""TFRecord files and tf.train.Example, written and read in plain Python: knows nothing of gofast."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence

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


Fields = Iterable[tuple[int, int, bytes]]  # number, type, and the value's bytes


def fields(data: bytes) -> Fields:
    """The fields of a message, as protobuf has them.

    Raises:
        ValueError: it is none, or has groups.
    """
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        begin, kind = at, tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind == 2:
            length, begin = _varint(data, at)
            at = begin + length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise ValueError("a group")
        if at > len(data) or not 0 < tag >> 3 < 1 << 29:
            raise ValueError("a broken field")
        yield tag >> 3, kind, data[begin:at]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        if at + i == len(data):
            break
        value |= (data[at + i] & 127) << 7 * i
        if data[at + i] < 128:
            return value & (1 << 64) - 1, at + i + 1
    raise ValueError("a broken number")


def read_example(data: bytes) -> dict[str, list[int] | list[float] | list[bytes] | None]:
    """The features of an Example as protobuf has them; of one without a list None.

    Raises:
        ValueError: it is none.
    """
    found: dict[str, bytes] = {}
    for features in (value for number, kind, value in fields(data) if (number, kind) == (1, 2)):
        for entry in (value for number, kind, value in fields(features) if (number, kind) == (1, 2)):
            parts = {1: b"", 2: b""}
            for number, kind, value in fields(entry):
                if kind == 2 and number in parts:
                    parts[number] = value if number == 1 else parts[2] + value  # messages are merged so
            found[parts[1].decode()] = parts[2]
    return {name: _values(feature) for name, feature in found.items()}


def _values(feature: bytes) -> list[int] | list[float] | list[bytes] | None:
    which, merged = 0, b""
    for number, kind, value in fields(feature):
        if kind == 2 and number in (1, 2, 3):
            merged = merged + value if number == which else value
            which = number
    if which == 1:
        return [value for number, kind, value in fields(merged) if (number, kind) == (1, 2)]
    if which == 2:
        told = b"".join(value for number, kind, value in fields(merged) if number == 1 and kind in (2, 5))
        return [*struct.unpack(f"<{len(told) // 4}f", told)]
    if which == 3:
        told = b"".join(value for number, kind, value in fields(merged) if number == 1 and kind in (0, 2))
        ints, at = list[int](), 0
        while at < len(told):
            value, at = _varint(told, at)
            ints.append(value - (value >> 63 << 64))
        return ints
    return None
