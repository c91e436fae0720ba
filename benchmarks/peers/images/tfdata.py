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


def sample(path: Any, label: Any, train: bool) -> tuple[Any, Any]:
    """One picture as float32 [3, SIZE, SIZE]. antialias is its name for what Pillow's bilinear does."""
    content = tf.io.read_file(path)
    shape = tf.io.extract_jpeg_shape(content)
    window = random_window(shape) if train else central_window(shape)
    picture = tf.io.decode_and_crop_jpeg(content, window, channels=3)
    numbers = tf.image.resize(picture, [SIZE, SIZE], antialias=True)
    if train:
        numbers = tf.image.random_flip_left_right(numbers)
    numbers = numbers * tf.constant(SCALE) - tf.constant(OFFSET)
    return tf.transpose(numbers, [2, 0, 1]), label


class Epochs:
    """A pipeline that is iterated again and again; torch looks at its batches' memory. As many calls as there
    are threads: AUTOTUNE, which every epoch begins again, took longer (11 ms a picture instead of 8, on two
    busy cores)."""

    def __init__(self, folder: str, kind: str) -> None:
        single()
        train = kind == TRAIN
        paths, labels = zip(*ImageFolder(folder).samples, strict=True)
        files = tf.data.Dataset.from_tensor_slices((list(paths), list(labels)))
        if train:
            files = files.shuffle(len(paths))
        options = tf.data.Options()
        options.threading.private_threadpool_size = THREADS
        options.threading.max_intra_op_parallelism = 1
        self.data = (
            files.map(lambda path, label: sample(path, label, train), num_parallel_calls=THREADS)
            .batch(BATCH)
            .prefetch(tf.data.AUTOTUNE)
            .with_options(options)
        )

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for pictures, labels in self.data:
            yield from_dlpack(pictures), from_dlpack(labels).long()


PEER = Peer(Epochs)
