"""Decoder: the samples of torchvision's transforms under Pillow, of whatever a batch is handed over as."""

from __future__ import annotations

import functools
import gc
import io
import multiprocessing
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import gofast
from gofast import errors
from in_threads import in_threads
from picture_files import contents
from same import difference

VAL = T.Compose([T.Resize(24), T.CenterCrop(20), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])
TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
REST = T.Compose([T.RandomResizedCrop(16), T.Lambda(lambda x: x), T.RandomVerticalFlip(), T.ToTensor()])
ANY = T.Compose([T.Resize(24), T.ToTensor()])  # sizes differ


def reference(transform: Callable[[Any], Any], files: list[bytes]) -> list[torch.Tensor]:
    return [transform(Image.open(io.BytesIO(data)).convert("RGB")) for data in files]


@pytest.mark.parametrize("transform", [VAL, TRAIN, REST, ANY], ids=["val", "train", "rest", "any"])
@pytest.mark.parametrize("given", ["default", "own"])
def test_samples_and_draws_are_torchvisions(transform: Any, given: str) -> None:
    files = contents()
    torch.manual_seed(7)
    expected: Any = reference(transform, files)
    after = torch.get_rng_state()
    if transform is not ANY:
        expected = torch.stack(expected)
    if given == "default":
        torch.manual_seed(7)
        made = gofast.Decoder(transform)(files)
        end = torch.get_rng_state()
    else:
        generator = torch.Generator().manual_seed(7)
        made = gofast.Decoder(transform, rng=generator)(files)
        end = generator.get_state()
        assert torch.equal(torch.get_rng_state(), after)  # of the reference; nobody else drew
    assert difference(made, expected, strides=False) == ""
    assert torch.equal(end, after)


def test_no_transform_gives_decoded_pictures() -> None:
    files = contents()
    made = gofast.Decoder()(files)
    assert difference(made, reference(T.PILToTensor(), files), strides=False) == ""
    assert gofast.Decoder()([files[0], files[0]]).shape == (2, 3, 40, 30)


FORMS: dict[str, Callable[[list[bytes]], Any]] = {
    "tuple": tuple,
    "bytearrays": lambda files: [bytearray(data) for data in files],
    "memoryviews": lambda files: [memoryview(data) for data in files],
    "arrays": lambda files: [np.frombuffer(data, np.uint8) for data in files],
    "tensors": lambda files: [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files],
    "numpy": lambda files: np.array(files, object),
    "pandas": lambda files: pd.Series(files),
    "polars": lambda files: polars.Series(files),
    "arrow": lambda files: pa.array(files),
    "chunks": lambda files: pa.chunked_array([files[:2], [], files[2:]]),
    "large": lambda files: pa.array(files, pa.large_binary()),
    "structs": lambda files: pa.array([{"bytes": data, "path": "x.jpg"} for data in files]),
    "dicts": lambda files: [{"bytes": data, "path": None} for data in files],
    "generator": lambda files: (data for data in files),
}


@pytest.mark.parametrize("form", FORMS)
def test_takes_bytes_in_any_form(form: str) -> None:
    files = contents()
    assert torch.equal(gofast.Decoder(VAL)(FORMS[form](files)), torch.stack(reference(VAL, files)))


def test_takes_paths_as_bytes_and_single_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, decode = contents(), gofast.Decoder(VAL)
    monkeypatch.chdir(tmp_path)
    for i, data in enumerate(files):
        Path(f"é {i}").write_bytes(data)
    names, expected = [f"é {i}" for i in range(len(files))], torch.stack(reference(VAL, files))
    forms: list[Any] = [names, [tmp_path / n for n in names], pa.array(names), pd.Series(names)]
    forms.append([{"bytes": None, "path": name} for name in names])
    for form in forms:
        assert torch.equal(decode(form), expected)
    for alone in (files[3], bytearray(files[3]), names[3], Path(names[3]), {"bytes": files[3]}):
        assert torch.equal(decode(alone), expected[3])


def test_batches_of_any_length_leave_each_other_alone() -> None:
    files, decode = contents(), gofast.Decoder(VAL)
    expected = torch.stack(reference(VAL, files))
    held = [decode(files[:n]) for n in (7, 1, 0, 3, 7)]
    assert [made.shape[0] for made in held] == [7, 1, 0, 3, 7]
    assert all(torch.equal(made, expected[: len(made)]) for made in held)
    assert decode([]).shape == (0, 3, 20, 20) and gofast.Decoder(ANY)([]) == []


def test_bad_pictures(tmp_path: Path) -> None:
    files: list[Any] = [*contents(2), b"not a picture", None]
    with pytest.raises(errors.BadImageError, match=r"sample 2: bytes\[2\]") as caught:
        gofast.Decoder(VAL)(files)
    assert caught.value.index == 2
    with pytest.raises(FileNotFoundError) as missing:
        gofast.Decoder(VAL)([str(tmp_path / "none.jpg")])
    assert missing.value.index == 0  # type: ignore[attr-defined]
    with pytest.raises(errors.NotFoundError):
        gofast.Decoder(VAL)(["x" * 5000])

    decode = gofast.Decoder(VAL, on_error="zero")
    with pytest.warns(errors.BadSampleWarning) as said:
        made = decode(files)
        decode(files * 4)  # in another room
    assert len(said) == 1 and "bad_samples()" not in str(said[0].message)
    assert torch.equal(made[:2], torch.stack(reference(VAL, files[:2]))) and not made[2:].any()

    grey = Image.new("RGB", (30, 30), (9, 9, 9))
    with pytest.warns(errors.BadSampleWarning):
        made = gofast.Decoder(VAL, on_error=lambda i, error: 0 if i == 2 else grey)(files)
    assert torch.equal(made[2], made[0]) and torch.equal(made[3], VAL(grey))


def test_wrong_options_and_arguments() -> None:
    wrong: list[dict[str, Any]] = [{"threads": 0}, {"on_error": "replace"}, {"rng": 3}, {"device": "mps"}]
    for options in [*wrong, {"transform": 3}]:
        with pytest.raises(errors.OptionError):
            gofast.Decoder(**options)
    for pictures in ([3], [b"x", "y"], [np.zeros((2, 4), np.uint8)[:, ::2]], pd.DataFrame({"a": [b"x"]})):
        with pytest.raises(errors.OptionError):
            gofast.Decoder(VAL)(pictures)


def test_threads_share_a_decoder() -> None:
    files, decode = contents(), gofast.Decoder(VAL)
    expected, wrong = torch.stack(reference(VAL, files)), []

    def work(seed: int) -> None:
        order = torch.Generator().manual_seed(seed)
        for _ in range(20):
            chosen = torch.randint(len(files), (5,), generator=order)
            if not torch.equal(decode([files[i] for i in chosen]), expected[chosen]):
                wrong.append(seed)

    in_threads(*(functools.partial(work, seed) for seed in range(6)))
    assert wrong == [] and len(decode._lanes._lanes) <= 8


def _in_child(decode: Any, files: list[bytes], answers: Any) -> None:
    answers.put(decode(files).numpy())


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
@pytest.mark.parametrize("used", [False, True])
def test_other_processes(method: str, used: bool) -> None:
    if method != "fork" and used:
        pytest.skip("such a process starts again either way")
    files, decode = contents(), gofast.Decoder(VAL)
    if used:
        decode(files)
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(decode, files, answers))
    child.start()
    made = torch.from_numpy(answers.get(timeout=60))
    child.join()
    assert torch.equal(made, torch.stack(reference(VAL, files)))


def test_pickles_and_repr() -> None:
    decode = gofast.Decoder(VAL, threads=1, on_error="zero")
    decode(contents(2))
    again = pickle.loads(pickle.dumps(decode))
    assert repr(again) == repr(decode) and "threads=1, on_error='zero'" in repr(decode)
    assert again(contents(2)).shape == (2, 3, 20, 20)


def test_keeps_no_files_and_no_descriptors() -> None:
    decode = gofast.Decoder(VAL)
    decode(contents(2))
    gc.collect()  # of other tests
    before = len(os.listdir("/proc/self/fd"))
    held = bytearray(contents(1)[0])
    for _ in range(20):
        decode([held])
    held.append(0)  # raises BufferError while anybody holds its memory
    assert len(os.listdir("/proc/self/fd")) <= before


def test_follows_a_changed_transform() -> None:
    files, decode = contents(2), gofast.Decoder(T.Compose([T.Resize((8, 8)), T.ToTensor()]))
    assert decode(files).shape == (2, 3, 8, 8)
    decode.transform = VAL
    assert decode(files).shape == (2, 3, 20, 20)


def test_arrives_on_a_device(standin: Any) -> None:
    files = contents()
    decode = gofast.Decoder(VAL, device="cuda")
    standin.capturing = True
    state = torch.get_rng_state()
    with pytest.raises(errors.DeviceError, match="CUDA graph"):
        decode(files)
    assert torch.equal(torch.get_rng_state(), state)
    standin.capturing = False
    assert torch.equal(standin.seen(decode(files)), torch.stack(reference(VAL, files)))
    assert torch.equal(standin.seen(decode(files[0])), reference(VAL, files)[0])
