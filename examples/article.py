# %% [markdown]
# # From 17 s to 0.02 s an epoch
#
# What a training loop waits for, step by step, measured on your machine: first a table of digits, then a
# folder of photographs. Each step changes one thing, says why that should help, and shows whether it did.
# Nothing is trained here: an epoch is the time that it takes to get all batches, which is the time that a
# GPU stands still.
#
# Run it as a script (`python examples/article.py --help` says how to use your own data) or as a notebook.
# The files beside it are few, so that all of it takes a minute. The times of the title are of 60,000
# digits and of another machine; yours stand in the tables below.

# %%
from __future__ import annotations

import importlib.util
import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from article_tools import Comparison, options
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.dlpack import from_dlpack
from torchvision import transforms

import gofast

chosen = options()
batch, workers = chosen.batch, chosen.workers
cuda = torch.cuda.is_available()
forked: dict[str, Any] = {"num_workers": workers, "multiprocessing_context": "fork"}

# %% [markdown]
# ## A table
#
# A Parquet file: in each row a digit of 28 x 28 pixels and its label. What training wants is float32
# pictures of 0 to 1 and int64 labels, in another order every epoch.

# %%
table = Comparison("a table", "rows", chosen.epochs)


class Naive(Dataset[tuple[Tensor, int]]):
    """What most tutorials have: pandas in memory, one row a sample."""

    def __init__(self, path: str) -> None:
        self.frame = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        row = self.frame.iloc[index]
        pixels = row.drop(chosen.label).to_numpy("float32").reshape(chosen.shape)
        return torch.from_numpy(pixels) / 255, int(row[chosen.label])


table.add(
    "a naive Dataset",
    """
    Where everybody starts. For each sample pandas makes a Series of all columns, then a second one
    without the label; numpy and torch make an array and two tensors. The work of a row is to copy
    some bytes, and each row pays for thousands of steps of Python instead. At the end torch stacks
    the samples, which copies them once more.
    """,
    lambda: DataLoader(Naive(chosen.table), batch, shuffle=True),
)

# %%
table.add(
    f"num_workers={workers}",
    """
    The first advice of every forum: let other processes do it. The work is not less, it is only
    spread: at best it goes as many times faster as there are idle processors. And it is not free.
    Workers are started for every epoch, and their batches come through shared memory.
    """,
    lambda: DataLoader(Naive(chosen.table), batch, shuffle=True, **forked),
)

# %%
table.add(
    "persistent_workers=True",
    """
    The workers stay from epoch to epoch. That saves their start, which counts where epochs are
    short. The rows are as slow as before.
    """,
    lambda: DataLoader(Naive(chosen.table), batch, shuffle=True, persistent_workers=True, **forked),
)

# %%
if cuda:
    table.add(
        "pin_memory=True",
        """
        A thread copies each batch to memory that the GPU can read by itself, so that the copy to
        the GPU runs beside the training. It makes that copy cheaper, and no row faster.
        """,
        lambda: DataLoader(
            Naive(chosen.table), batch, shuffle=True, persistent_workers=True, pin_memory=True, **forked
        ),
    )
else:
    table.missing("pin_memory=True", "there is no GPU here, and without one it does nothing")


# %%
def vectorised() -> DataLoader[Any]:
    """The whole table as two tensors."""
    frame = pd.read_parquet(chosen.table)
    labels = torch.from_numpy(frame.pop(chosen.label).to_numpy("int64", copy=True))
    pixels = torch.from_numpy(frame.to_numpy("float32")) / 255
    return DataLoader(TensorDataset(pixels.reshape(-1, *chosen.shape), labels), batch, shuffle=True)


table.add(
    "vectorised",
    """
    The first step that makes the work less: everything is converted once, when the file is opened,
    and a sample is a view of a tensor. It costs memory, four bytes for each byte of a pixel, and
    the time to open the file. What is left of an epoch is Python's: one index, one tuple and two
    small tensors a sample, and the stacking.
    """,
    vectorised,
)


# %%
def digits() -> gofast.TableDataset:
    """The same table through gofast: no class to write, no conversion."""
    return gofast.TableDataset(chosen.table, label=chosen.label, shape=chosen.shape, output="tuple")


table.add(
    "gofast.TableDataset",
    """
    The same DataLoader of torch with another dataset. The file is decoded in parallel into the
    smallest type that holds its values, here a byte a pixel, and a batch is made by one call: it
    gathers the rows, divides by 255 and writes floats. No Python runs for a sample.
    """,
    lambda: DataLoader(digits(), batch, shuffle=True),
)

# %%
table.add(
    "gofast.DataLoader",
    """
    The same, and torch's loop is left out too: threads make the next batches while the current one
    is trained with, in memory that is used again. No process is started, nothing is pickled.
    """,
    lambda: gofast.DataLoader(digits(), batch, shuffle=True),
)

# %%
if cuda:
    table.add(
        'gofast.DataLoader(device="cuda")',
        """
        The batches arrive on the GPU. This table fits there: it is copied once, as bytes, and a
        kernel gathers each batch and makes the floats.
        """,
        lambda: gofast.DataLoader(digits(), batch, shuffle=True, device="cuda"),
    )
else:
    table.missing('gofast.DataLoader(device="cuda")', "there is no GPU here")

# %%
table.show()

# %% [markdown]
# ## A folder of pictures
#
# Here the work is real: JPEGs are decoded, resized and normalised. So the best that one can do is to use
# all processors, to decode no more than is needed, and to do nothing twice. All ways use the pictures in
# the same order.

# %%
torch.set_num_threads(1)  # its steps on one picture are too short for more: threads would wait for each other
pictures = Comparison("a folder of pictures", "pictures", chosen.epochs)
classes = sorted(path.name for path in Path(chosen.pictures).iterdir() if path.is_dir())
files = [
    (str(path), label)
    for label, name in enumerate(classes)
    for path in sorted(Path(chosen.pictures, name).iterdir())
] * chosen.passes
transform = transforms.Compose(
    [
        transforms.Resize(256),
        transforms.CenterCrop(224),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)


class Pictures(Dataset[tuple[Tensor, int]]):
    """A custom Dataset as every tutorial writes it: Pillow, and torchvision's transforms."""

    def __len__(self) -> int:
        return len(files)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        path, label = files[index]
        with Image.open(path) as picture:
            tensor: Tensor = transform(picture.convert("RGB"))
        return tensor, label


pictures.add(
    "a custom Dataset",
    """
    One processor decodes whole pictures, resizes them, makes floats of the bytes, and subtracts and
    divides them in two further passes over memory. The other processors have nothing to do.
    """,
    lambda: DataLoader(Pictures(), batch),
)

# %%
pictures.add(
    f"the same, num_workers={workers}",
    """
    Other than for the table, workers can help here: decoding is most of the work, and it is spread over
    processes. What a picture costs stays the same.
    """,
    lambda: DataLoader(Pictures(), batch, persistent_workers=True, **forked),
)


# %%
class Pool:
    """The loader that people write themselves: a Pool makes the samples, this process the batches."""

    def __init__(self) -> None:
        self.pool = multiprocessing.get_context("fork").Pool(workers, torch.set_num_threads, (1,))

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        samples: list[tuple[Any, int]] = []
        for sample in self.pool.imap(one_picture, range(len(files)), chunksize=8):
            samples.append(sample)
            if len(samples) == batch:
                yield stacked(samples)
                samples = []
        if samples:
            yield stacked(samples)

    def close(self) -> None:
        self.pool.terminate()


def one_picture(index: int) -> tuple[Any, int]:
    """A sample as it crosses to the other process: pickled."""
    tensor, label = Pictures()[index]
    return tensor.numpy(), label


def stacked(samples: list[tuple[Any, int]]) -> tuple[Tensor, Tensor]:
    """A batch."""
    return torch.stack([torch.from_numpy(x) for x, _ in samples]), torch.tensor([y for _, y in samples])


pictures.add(
    f"multiprocessing.Pool({workers})",
    """
    The same spreading by hand. Each sample is pickled, written to a pipe, read and unpickled: 600
    kB a picture that torch's workers put into shared memory. And this process makes the batches,
    while the loop waits for them. It has a trap: torch's threads do not survive a fork, so the Pool
    hangs for ever unless its processes are told to use one thread, as torch's own workers are.
    """,
    Pool,
)


# %%
class TensorFlow:
    """tf.data, as TensorFlow's tutorials write it."""

    def __init__(self) -> None:
        import tensorflow as tf

        def load(path: Any, label: Any) -> tuple[Any, Any]:
            picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
            sides = tf.cast(tf.shape(picture)[:2], tf.float32)
            sides = tf.cast(sides * 256 / tf.reduce_min(sides), tf.int32)
            picture = tf.image.resize_with_crop_or_pad(
                tf.image.resize(picture, sides, antialias=True), 224, 224
            )
            picture = (picture / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
            return tf.transpose(picture, [2, 0, 1]), label

        source = tf.data.Dataset.from_tensor_slices(tuple(map(list, zip(*files, strict=True))))
        self.data = source.map(load, tf.data.AUTOTUNE).batch(batch).prefetch(tf.data.AUTOTUNE)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for images, labels in self.data:
            yield from_dlpack(images), from_dlpack(labels).long()


if importlib.util.find_spec("tensorflow"):
    pictures.add(
        "tf.data",
        """
        TensorFlow's pipeline runs in C++ on threads of one process, and nothing is pickled. The
        price: another framework, another language for the transforms, and other pixels. Its decoder
        and its filter round otherwise than Pillow's, so a network that was trained with the one
        sees other pictures through the other.
        """,
        TensorFlow,
    )
else:
    pictures.missing("tf.data", "TensorFlow is not installed here: pip install tensorflow-cpu")


# %%
def photographs() -> gofast.ImageFiles:
    """The same files through gofast, with torchvision's transforms as they are."""
    return gofast.ImageFiles([path for path, _ in files], [label for _, label in files], transform)


pictures.add(
    "gofast.ImageFiles",
    """
    torch's DataLoader and torchvision's transforms stay. gofast reads them as a plan and runs it in
    C: of each JPEG only the blocks that the crop needs are decoded, and resizing, floats and
    normalising are one pass, row by row, in the processor's cache. The pixels are Pillow's to the
    last bit. The whole batch is made on all processors.
    """,
    lambda: DataLoader(photographs(), batch),
)

# %%
pictures.add(
    "gofast.DataLoader",
    """
    The next batches are made while this one is trained with.
    """,
    lambda: gofast.DataLoader(photographs(), batch, num_workers=workers),
)

# %%
if cuda:
    pictures.add(
        'gofast.DataLoader(device="cuda")',
        """
        The batches arrive on the GPU: bytes cross the bus, a quarter of what floats take, and a
        kernel makes the floats there.
        """,
        lambda: gofast.DataLoader(photographs(), batch, num_workers=workers, device="cuda"),
    )
else:
    pictures.missing('gofast.DataLoader(device="cuda")', "there is no GPU here")

# %%
pictures.show()
