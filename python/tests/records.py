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
