"""gofast.ray, with a real Ray where it is there: make test-integrations."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import gofast
import gofast.ray
from gofast import errors
from picture_files import contents

pytestmark = pytest.mark.filterwarnings("default")  # Ray's, and of what runs in Python here
COUNT = 24
PICTURES = 40  # of `folder`
DRAWS = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.PILToTensor()])
PYTHON = T.Compose([T.Lambda(lambda picture: picture.convert("L")), T.RandomCrop(8), T.ToTensor()])
FILES = contents(COUNT)
TABLE = pa.table({"bytes": FILES, "n": range(COUNT), "name": [f"picture {i}" for i in range(COUNT)]})


def want(row: int, row_id: Any, seed: int, transform: Any) -> torch.Tensor:
    """What torchvision makes of a row."""
    torch.manual_seed(gofast.ray.seed_of(seed, row_id))
    made: torch.Tensor = transform(Image.open(io.BytesIO(FILES[row])).convert("RGB"))
    return made


@pytest.mark.parametrize("transform", [DRAWS, PYTHON], ids=["native", "python"])
@pytest.mark.parametrize("row_id", ["n", "name"])
def test_draws_follow_from_seed_and_row(row_id: str, transform: Any) -> None:
    decode = gofast.ray.Decode(transform, row_id=row_id, seed=5, output="x")
    before, state = [], torch.get_rng_state()
    for rows in (list(range(COUNT)), [3], [], [*range(COUNT - 1, 9, -1)]):
        table = TABLE.take(pa.array(rows, pa.int64()))
        for batch in (table, {name: table[name].to_numpy() for name in table.column_names}):
            made = decode(batch)
            assert [*made] == ["n", "name", "x"]
            assert (
                made["n"].tolist() == rows
                and isinstance(made["x"], np.ndarray)
                and len(made["x"]) == len(rows)
            )
            for row, x in zip(rows, made["x"], strict=True):
                of = table[row_id].to_pylist()[rows.index(row)]
                assert torch.equal(torch.from_numpy(x), want(row, of, 5, transform)), row
        before.append(made)
    torch.set_rng_state(state)
    others = gofast.ray.Decode(transform, row_id=row_id, seed=6, output="x")(TABLE)
    assert not np.array_equal(others["x"], before[0]["x"])


@pytest.mark.parametrize("transform", [DRAWS, PYTHON], ids=["native", "python"])
def test_threads_draw_beside_each_other(transform: Any) -> None:
    decode = gofast.ray.Decode(transform, row_id="n")
    with ThreadPoolExecutor(4) as pool:
        made = [*pool.map(decode, [TABLE] * 40)]
    for one in made:
        assert np.array_equal(one["image"], made[0]["image"])
    assert torch.equal(torch.from_numpy(made[0]["image"][7]), want(7, 7, 0, transform))


def test_without_a_row_id_torchs_generator_draws() -> None:
    decode = gofast.ray.Decode(DRAWS)
    torch.manual_seed(1)
    made = decode(TABLE)
    torch.manual_seed(1)
    assert np.array_equal(made["image"], gofast.Decoder(DRAWS)(FILES).numpy())


def test_pictures_of_their_own_sizes() -> None:
    made = gofast.ray.Decode()(TABLE.slice(0, 3))
    for x, file in zip(made["image"], FILES, strict=False):
        assert np.array_equal(x.transpose(1, 2, 0), np.asarray(Image.open(io.BytesIO(file)).convert("RGB")))


def test_copies_share_their_decoder_and_errors_are_typed() -> None:
    decode = gofast.ray.Decode(T.CenterCrop(9), row_id="n", seed=2)
    packed = pickle.dumps(decode)
    one, other = pickle.loads(packed), pickle.loads(packed)
    assert repr(one) == repr(decode)
    for each in (one, other):
        assert np.array_equal(np.stack(each(TABLE)["image"]), np.stack(decode(TABLE)["image"]))
    assert one._decoder is other._decoder
    alone = gofast.ray.Decode(T.Lambda(lambda picture: T.functional.pil_to_tensor(picture.resize((3, 3)))))
    assert alone(TABLE)["image"].shape == (COUNT, 3, 3, 3)
    with pytest.raises(errors.OptionError, match="no column 'bytes': it has \\['n'\\]"):
        decode(TABLE.select(["n"]))
    with pytest.raises(errors.OptionError, match="batch_format"):
        decode(3)
    with pytest.raises(errors.OptionError, match="callable"):
        gofast.ray.Decode(3)  # type: ignore[arg-type]
    damaged = TABLE.set_column(0, "bytes", pa.array([*FILES[:5], b"none", *FILES[6:]]))
    for row_id in (None, "n"):
        with pytest.raises(errors.BadImageError) as caught:
            gofast.ray.Decode(DRAWS, row_id=row_id)(damaged)
        assert caught.value.index == 5
        zeros = gofast.ray.Decode(DRAWS, row_id=row_id, on_error="zero")(damaged)["image"]
        assert not zeros[5].any() and zeros[4].any() and len(zeros) == COUNT


# -- with Ray


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two CPUs of this machine."""
    if not os.environ.get("GOFAST_INTEGRATIONS"):
        pytest.skip("ray is not here: make test-integrations")
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # of its processes
    ray.init(num_cpus=2, logging_level="ERROR", include_dashboard=False)
    yield ray
    ray.shutdown()


@pytest.mark.timeout(600)  # Ray starts processes, which import torch
def test_map_batches_and_iter_torch_batches(ray: Any, folder: Path) -> None:
    def made(path: str) -> torch.Tensor:
        torch.manual_seed(gofast.ray.seed_of(3, path))
        picture: torch.Tensor = DRAWS(Image.open(path).convert("RGB"))
        return picture

    paths = sorted(str(path) for path in folder.rglob("*") if path.is_file())
    assert len(paths) == 40
    files = ray.data.read_binary_files(paths, include_paths=True)
    decode = gofast.ray.Decode(DRAWS, row_id="path", seed=3)
    rows = files.map_batches(decode, batch_format="pyarrow", batch_size=7).take_all()
    assert sorted(row["path"] for row in rows) == paths
    assert all(torch.equal(torch.as_tensor(row["image"]), made(row["path"])) for row in rows)

    seen = list[str]()
    collate = gofast.ray.Collate(DRAWS, row_id="path", seed=3)
    for batch in files.iter_torch_batches(batch_size=7, collate_fn=collate):
        assert torch.equal(batch["image"], torch.stack([*map(made, batch["path"])]))
        seen += batch["path"]
    assert sorted(seen) == paths


def train(config: dict[str, Any]) -> None:
    """Three epochs of a loader of gofast's, which stops once in the middle of the second."""
    import ray.train
    from torch.utils.data import DistributedSampler

    rank, world = ray.train.get_context().get_world_rank(), ray.train.get_context().get_world_size()
    data = gofast.ImageFolder(config["folder"], DRAWS)
    sampler = DistributedSampler(data, world, rank, seed=4)
    loader = gofast.DataLoader(data, 4, sampler=sampler)
    torch.manual_seed(rank)
    first, kept = 0, ray.train.get_checkpoint()
    if kept is not None:
        with kept.as_directory() as place:
            state = torch.load(Path(place, f"{rank}.pt"), weights_only=True)
        loader.load_state_dict(state["loader"])
        first = state["epoch"]
    for epoch in range(first, 3):
        loader.set_epoch(epoch)
        for number, (images, labels) in enumerate(loader):
            with Path(config["log"], f"{rank}.txt").open("a") as log:
                log.write(f"{epoch} {labels.tolist()} {images.double().mean().item()}\n")
            if config["stops"] and kept is None and (epoch, number) == (1, 2):
                place = Path(config["log"], "state")
                place.mkdir(exist_ok=True)
                torch.save({"loader": loader.state_dict(), "epoch": epoch}, place / f"{rank}.pt")
                torch.distributed.barrier()
                ray.train.report({}, checkpoint=ray.train.Checkpoint(place) if rank == 0 else None)
                raise RuntimeError("stopped")


@pytest.mark.timeout(600)
def test_a_loader_in_ray_train_goes_on_after_a_failure(ray: Any, folder: Path, tmp_path: Path) -> None:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    logs = []
    for stops in (False, True):
        log = tmp_path / str(stops)
        log.mkdir()
        TorchTrainer(
            train,
            train_loop_config={"folder": str(folder), "log": str(log), "stops": stops},
            scaling_config=ScalingConfig(num_workers=2),
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(
                name="run", storage_path=str(log / "ray"), failure_config=FailureConfig(max_failures=1)
            ),
        ).fit()
        logs.append([(log / f"{rank}.txt").read_text().splitlines() for rank in range(2)])
    assert logs[0] == logs[1]
    assert [len(lines) for lines in logs[0]] == [15, 15]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("script", "says"), [("ray_data", "40 pictures, the same"), ("ray_train", "'epoch': 1")]
)
def test_examples(ray: Any, folder: Path, tmp_path: Path, script: str, says: str) -> None:
    example = Path(__file__).parents[3] / "examples" / f"{script}.py"
    done = subprocess.run(
        [sys.executable, example, folder],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert says in done.stdout, done.stderr[-3000:]
