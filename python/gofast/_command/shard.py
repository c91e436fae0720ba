"""gofast shard: a folder of classes as shards, WebDataset's or Hugging Face's."""

from __future__ import annotations

import argparse

from . import output

_DESCRIPTION = """Writes the pictures of a folder of classes, as torchvision's ImageFolder lists and
numbers them, into files that are read from front to back: .tar as WebDataset has them
(gofast.ImageFiles.from_tar), or .parquet as Hugging Face's hub has them (gofast.ImageFiles.from_parquet;
it needs pyarrow). Pictures are copied byte by byte. In a tar file, a sample's key is the picture's
number in ImageFolder's order, its label is a member .cls, and the names of the classes are the member
__features__. Beside a tar file lies its index, train-000000.tar.index: with it, a training downloads a shard
from a server only when it needs one.

A shard gets its name when it is complete. After an interruption, the same command goes on: complete
shards stay. It refuses to mix shards if a picture has changed since, by size and time, or if the options
are others. DST has braces where the shard's number stands, {} or, with zeros before it, {:06d}; a second
pair is how many there are. In a bucket, s3://bucket/train-{:06d}.tar, a shard is complete or not there, too;
keys and endpoint are those of the AWS tools."""


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "shard",
        run,
        "write a folder of classes as WebDataset's tar files or Parquet",
        _DESCRIPTION,
        """gofast shard photos/train out/train-{:06d}.tar --size 256MB --shuffle 0
gofast shard photos/train out/train-{:05d}-of-{:05d}.parquet --size 500MB --verify
gofast shard photos/train s3://bucket/train-{:06d}.tar --shuffle 0""",
    )
    parser.add_argument("src", metavar="SRC", help="the folder, with a folder for each class")
    parser.add_argument(
        "dst", metavar="DST", help="the names: train-{:06d}.tar, s3://bucket/train-{:05d}.parquet"
    )
    parser.add_argument(
        "--size", metavar="BYTES", default="256MB", help="of a shard, at most (default: 256MB)"
    )
    parser.add_argument(
        "--shuffle",
        metavar="SEED",
        type=_seed,
        help="shuffle the pictures. Without it they stay sorted by class, and a reader that shuffles only "
        "within a buffer, as WebDataset does, gives batches of one class",
    )
    parser.add_argument("--verify", action="store_true", help="read all shards back, and compare every byte")
    parser.add_argument(
        "--on-error", choices=("raise", "skip"), default="raise", help="files that cannot be opened"
    )
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    from .shard_writer import run  # torch, which commands start without

    return run(given)


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number from 0 on")
    return int(text)
