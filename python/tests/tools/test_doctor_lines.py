"""The lines that the doctor tells to write, in scripts as people write them: each is run there."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

import gofast
from gofast._doctor.facts import Facts
from gofast._doctor.rebuilt_transforms import built
from gofast._doctor.remedies import FITTING, offered
from gofast._doctor.scope import Scope
from gofast._doctor.stacks import StackSamples
from gofast._doctor.verdicts import Verdict
from same import difference

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create"
)  # more than processors are a line
COUNT = 24
HEAD = """
import glob, os
import numpy as np
import pandas as pd
import torch, torchvision
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset
from torchvision import transforms as T

tf = T.Compose([T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor()])

class Base(Dataset):
    def __len__(self):
        return len(self.files)
    def sample(self, i, path):
        return Image.open(path).convert("RGB")
"""
FOLDERS = """
class Photos(Base):
    def __init__(self, root, transform):
        self.root, self.transform = root, transform
        self.files = sorted(glob.glob(os.path.join(root, "*", "*.jpg")))
        self.class_to_idx = {name: at for at, name in enumerate(sorted(os.listdir(root)))}
    def __getitem__(self, i):
        path = self.files[i]
        image = self.transform(Image.open(path).convert("RGB"))
        return image, self.class_to_idx[os.path.basename(os.path.dirname(path))]
train = Photos("photos", tf)
"""

# What a script says, and what the line must hold.
SCRIPTS: dict[str, tuple[str, str]] = {
    "labels are folder names": (
        FOLDERS + "dl = DataLoader(train, batch_size=8, shuffle=True)",
        'dataset = gofast.ImageFolder("photos", transform=tf)\n'
        "dl = gofast.DataLoader(dataset, batch_size=8, shuffle=True)",
    ),
    "folder names, but other files than ImageFolder's": (
        FOLDERS + "train.files = train.files[::-2]\ndl = DataLoader(train, batch_size=8)",
        "gofast.ImageFiles(train.files, [train.class_to_idx[os.path.basename(os.path.dirname(path))] "
        "for path in train.files], transform=tf)",
    ),
    "a split": (
        FOLDERS + "part = Subset(train, range(3, 19))\n"
        "loaders = {'train': DataLoader(part, 4, shuffle=True, drop_last=True)}",
        'Subset(gofast.ImageFolder("photos", transform=tf), part.indices)\n'
        'loaders["train"] = gofast.DataLoader(dataset, batch_size=4, shuffle=True, drop_last=True)',
    ),
    "pairs, and a Compose built for each sample": (
        """
class Pairs(Dataset):
    def __init__(self):
        self.items = [(path, 7 * at % 5) for at, path in enumerate(sorted(glob.glob("photos/*/*.jpg")))]
    def __len__(self):
        return len(self.items)
    def __getitem__(self, i):
        path, label = self.items[i]
        tf = T.Compose([T.Resize(20), T.CenterCrop(20), T.ToTensor()])
        return tf(Image.open(path).convert("RGB")), label
dl = DataLoader(Pairs(), batch_size=8)
""",
        "gofast.ImageFiles([item[0] for item in dl.dataset.items], [item[1] for item in dl.dataset.items], "
        "transform=T.Compose([T.Resize(20), T.CenterCrop(20), T.ToTensor()]))",
    ),
    "a table of ids": (
        """
class Frame(Dataset):
    def __init__(self, df, root, augment):
        self.df, self.root, self.augment = df, root, augment
    def __len__(self):
        return len(self.df)
    def __getitem__(self, i):
        row = self.df.iloc[i]
        return self.augment(Image.open(f"{self.root}/{row['id']}.jpg").convert("RGB")), int(row["label"])
df = pd.DataFrame({"id": [f"{at:02}" for at in range(24)], "label": [at % 7 for at in range(24)]})
ds = Frame(df, "flat", tf)
dl = DataLoader(ds, batch_size=8, shuffle=True)
""",
        'gofast.ImageFiles([os.path.join(ds.root, f"{name}.jpg") for name in ds.df["id"].tolist()], '
        'ds.df["label"].tolist(), transform=tf)',
    ),
    "names and a transform of the module, labels by file": (
        """
paths = sorted(glob.glob("flat/*.jpg"))
table = {os.path.basename(path): at % 3 for at, path in enumerate(paths)}
class Global(Dataset):
    def __len__(self):
        return len(paths)
    def __getitem__(self, i):
        return {"image": tf(Image.open(paths[i]).convert("RGB")), "target": table[os.path.basename(paths[i])]}
class Trainer:
    def __init__(self):
        self.loader = DataLoader(Global(), 8, shuffle=True)
trainer = Trainer()
""",
        "gofast.ImageFiles(paths, [table[os.path.basename(path)] for path in paths], transform=tf, "
        'output="dict", keys=("image", "target"))\n'
        "trainer.loader = gofast.DataLoader(dataset, batch_size=8, shuffle=True)",
    ),
    "torchvision's folder": (
        "ds = torchvision.datasets.ImageFolder('photos', tf)\n"
        "dl = DataLoader(ds, 8, sampler=torch.utils.data.WeightedRandomSampler([1.0] * 24, 24))",
        'gofast.ImageFolder("photos", tf)\ndl = gofast.DataLoader(dataset, batch_size=8, sampler=dl.sampler)',
    ),
    "tensors": (
        "X, y = torch.rand(24, 3), torch.arange(24)\ndl = DataLoader(TensorDataset(X, y), 8, shuffle=True)",
        "dataset = gofast.ArrayDataset(X, y)\n",
    ),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, draw = tmp_path_factory.mktemp("home"), np.random.default_rng(0)
    for at in range(COUNT):
        picture = Image.fromarray(draw.integers(0, 256, (5, 6, 3), np.uint8)).resize((40, 30))
        for place in (folder / "photos" / "abc"[at % 3], folder / "flat"):
            place.mkdir(parents=True, exist_ok=True)
            picture.save(place / f"{at:02}.jpg")
    return folder


def written(script: str, folder: Path) -> tuple[dict[str, Any], Any]:
    """The names of a script after it has run, and its loader."""
    path = folder / "script.py"
    path.write_text(HEAD + script)
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    sys.modules["script"] = SimpleNamespace(**names)  # type: ignore[assignment]
    held = [
        *names.values(),
        *names.get("loaders", {}).values(),
        getattr(names.get("trainer"), "loader", None),
    ]
    return names, next(value for value in held if isinstance(value, DataLoader))


def batches(loader: Any) -> list[Any]:
    torch.manual_seed(3)
    return list(loader)


def recorded(loader: Any, names: dict[str, Any], decoding: float = 0.0) -> Facts:
    seen = StackSamples(batches=1, samples=4, stages={"decode": (decoding, 0.0)})
    scope = Scope(loader, {k: v for k, v in names.items() if k != "__builtins__"}, "train.py --epochs 2")
    return Facts(loader, 0, False, 2, None, True, stacks=seen, names=scope, comparing=20.0)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_line_runs_in_its_script(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    script, line = SCRIPTS[name]
    names, loader = written(script, home)
    found = recorded(loader, names, 0.0 if name == "tensors" else 0.1).plan
    assert found is not None
    assert found.fits and found.said.startswith(f"{len(loader.dataset)} of"), found.said
    assert line in found.code, found.code
    before = batches(loader)
    exec(found.code, names)
    (now,) = [
        value
        for value in (
            names.get("dl"),
            names.get("loaders", {}).get("train"),
            getattr(names.get("trainer"), "loader", None),
        )
        if value is not None
    ]
    assert type(now) is gofast.DataLoader
    assert not difference(before, batches(now))


def test_every_remedys_line_is_python_that_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    script = (
        FOLDERS
        + "dl = DataLoader(train, 4, shuffle=True, num_workers=2, worker_init_fn=print, collate_fn=list)"
    )
    names, loader = written(script, home)
    facts = recorded(loader, names)
    facts.workers, facts.cores, facts.run.doubles = 2, 4, True
    facts.built = ["train.py:3 in __getitem__"]
    seen = set()
    for code in Verdict:
        for key in FITTING.get(code, ()):
            offer = None if key in ("gofast", "cache") else offered(facts, key)
            if offer is None or not offer.remedy.code:
                continue
            seen.add(key)
            if "OMP_" in offer.remedy.code:
                assert offer.remedy.code == "OMP_WAIT_POLICY=passive python train.py --epochs 2"
                continue
            assert not any(
                isinstance(node, ast.Constant) and node.value is ...
                for node in ast.walk(ast.parse(offer.remedy.code))
            )
            there, threads = {**names}, torch.get_num_threads()
            exec(offer.remedy.code, there)
            torch.set_num_threads(threads)
            assert isinstance(there["dl"], DataLoader) and there["dl"].batch_size in (4, 32)
    assert seen >= {
        "num_workers",
        "prefetch_factor",
        "persistent_workers",
        "threads",
        "sampler",
        "batch_size",
        "uint8",
    }


def test_a_loader_without_a_name_is_to_be_filled_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    names, loader = written(FOLDERS + "dl = DataLoader(train, 4)", home)
    del names["dl"]
    found = recorded(loader, names, 0.1).plan
    assert found is not None and found.fits
    assert found.code.startswith("# fill in: loader is the DataLoader of your loop\nimport gofast\n")


def test_the_nearest_function_that_knows_the_dataset() -> None:
    data = torch.utils.data.TensorDataset(torch.zeros(4, 2))

    def train(batches: Any) -> Scope:
        return Scope.around(sys._getframe(), batches)

    def run() -> Scope:
        rows = data
        return train(DataLoader(rows))

    scope = run()
    assert scope.dataset(data, data) == "rows" and not scope.named


def test_few_samples_are_said_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    names, loader = written(FOLDERS + "dl = DataLoader(train, 4)", home)
    facts = recorded(loader, names, 0.1)
    facts.comparing = 0.0
    assert facts.plan is not None
    assert facts.plan.said == "only 1 of 24 samples were compared, and are equal: more seconds= compare more"


def test_where_a_sample_builds_a_compose(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    _, loader = written(SCRIPTS["pairs, and a Compose built for each sample"][0], home)
    (found,) = built(loader.dataset, 0)
    line = next(
        at for at, text in enumerate((home / "script.py").read_text().splitlines(), 1) if "T.Resize" in text
    )
    assert found.place == f"script.py:{line} in __getitem__"
    assert built(written(FOLDERS + "dl = DataLoader(train)", home)[1].dataset, 0) == []
