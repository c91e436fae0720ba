"""tf.data on two threads. As in TensorFlow's ImageNet examples, only what the crop needs is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import torch
from torch.utils.dlpack import from_dlpack
from torchvision.datasets import ImageFolder

from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import single

THREADS = 2
SCALE = [1 / (255 * std) for std in STD]
OFFSET = [mean / std for mean, std in zip(MEAN, STD, strict=True)]


def random_window(shape: Any) -> Any:
    """torchvision's RandomResizedCrop: top, left, height, width."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape,
        bounding_boxes=tf.zeros([0, 0, 4]),
        aspect_ratio_range=(3 / 4, 4 / 3),
        area_range=(0.08, 1.0),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    return tf.stack([begin[0], begin[1], size[0], size[1]])


def central_window(shape: Any) -> Any:
    """What Resize and CenterCrop leave, in the picture's own pixels."""
    side = tf.cast(tf.cast(tf.minimum(shape[0], shape[1]), tf.float32) * (SIZE / SHORT_SIDE), tf.int32)
    return tf.stack([(shape[0] - side + 1) // 2, (shape[1] - side + 1) // 2, side, side])


def numbers_of(content: Any, train: bool) -> Any:
    """One picture as float32 [3, SIZE, SIZE]. antialias is its name for what Pillow's bilinear does."""
    shape = tf.io.extract_jpeg_shape(content)
    window = random_window(shape) if train else central_window(shape)
    picture = tf.io.decode_and_crop_jpeg(content, window, channels=3)
    numbers = tf.image.resize(picture, [SIZE, SIZE], antialias=True)
    if train:
        numbers = tf.image.random_flip_left_right(numbers)
    numbers = numbers * tf.constant(SCALE) - tf.constant(OFFSET)
    return tf.transpose(numbers, [2, 0, 1])


def batches(source: Any, sample: Any) -> Any:
    """A pipeline that is iterated again and again. As many calls as there are threads: AUTOTUNE, which every
    epoch begins again, took longer (11 ms a picture instead of 8, on two busy cores)."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    options.threading.max_intra_op_parallelism = 1
    made = source.map(sample, num_parallel_calls=THREADS).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return made.with_options(options)


def in_torch(data: Any) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """torch looks at its batches' memory."""
    for pictures, labels in data:
        yield from_dlpack(pictures), from_dlpack(labels).long()


class Epochs:
    """The pictures of a folder."""

    def __init__(self, folder: str, kind: str) -> None:
        single()
        train = kind == TRAIN
        paths, labels = zip(*ImageFolder(folder).samples, strict=True)
        files = tf.data.Dataset.from_tensor_slices((list(paths), list(labels)))
        if train:
            files = files.shuffle(len(paths))
        self.data = batches(files, lambda path, label: (numbers_of(tf.io.read_file(path), train), label))

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return in_torch(self.data)


class Records:
    """The same of the pictures in a TFRecord file, shuffled in a buffer of its samples."""

    def __init__(self, path: str, records: int) -> None:
        single()
        features = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        }

        def sample(record: Any) -> tuple[Any, Any]:
            row = tf.io.parse_single_example(record, features)
            return numbers_of(row["image"], train=True), row["label"]

        self.data = batches(tf.data.TFRecordDataset(path).shuffle(records), sample)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return in_torch(self.data)


PEER = Peer(Epochs)
