"""What of torch reads a tensor without asking its class, given samples that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils import dlpack as torch_dlpack
from torchvision import transforms as T

import gofast
from gofast._images import compose_calls, direct_readers, lazy_samples
from gofast._images.lazy_samples import LazySample
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore:`torch.jit"),
]

dlpack: Any = torch_dlpack  # it exports nothing
names: Any = torch
TRAIN = T.Compose([T.Resize((20, 20)), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, random = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for i in range(2):
        Image.fromarray(random.integers(0, 256, (90, 120, 3), np.uint8)).save(folder / f"{i}.jpg")
    return sorted(folder.iterdir())


@pytest.fixture(autouse=True)
def in_use() -> Iterator[None]:
    compose_calls.follow()
    yield
    compose_calls.leave()


def waiting(path: Path, transform: Any = TRAIN) -> Any:
    made = transform(gofast.open(path).convert("RGB"))
    assert isinstance(made, LazySample), "it was made at once"
    return made


def plain(path: Path, transform: Any = TRAIN) -> Any:
    return transform(Image.open(path).convert("RGB"))


def data_set(x: Any, _: Any) -> Any:
    tensor = torch.empty(3, 20, 20)
    tensor.data = x
    return tensor, x + 0


def data_of_a_parameter(x: Any, _: Any) -> Any:
    tensor = torch.nn.Parameter(torch.zeros(1))
    tensor.data = x
    return tensor.data


def data_of_one_that_waits(x: Any, y: Any) -> Any:
    x.data = y
    return x + 0, y + 0


def under_grad(x: Any, y: Any) -> Any:
    return torch.func.grad(lambda w: (torch.stack([x, y]) * w).sum())(torch.ones(3, 20, 20))


def trace_beside_one(x: Any, y: Any) -> Any:
    """torch's check compares lines of code, too: the first look at y is in one of gofast's."""
    return names.jit.trace(lambda t: t * y, torch.ones(3, 1, 1), check_trace=False)(x)


def parameter(x: Any, _: Any) -> Any:
    made = torch.nn.Parameter(x)
    return type(made), repr(made), made.data


READERS: dict[str, Callable[[Any, Any], Any]] = {
    "data": data_set,
    "data of a parameter": data_of_a_parameter,
    "data of one that waits": data_of_one_that_waits,
    "dlpack": lambda x, _: dlpack.from_dlpack(dlpack.to_dlpack(x)),
    "torch.to_dlpack": lambda x, _: dlpack.from_dlpack(names.to_dlpack(x)),
    "torch._C's": lambda x, _: dlpack.from_dlpack(names._C._to_dlpack(x)),
    "parameter": parameter,
    "parameter without gradient": lambda x, _: type(torch.nn.Parameter(x, requires_grad=False)),
    "trace": lambda x, y: names.jit.trace(lambda t: t * 2 + 1, x)(y),
    "trace beside one": trace_beside_one,
    "jvp": lambda x, y: torch.func.jvp(torch.sin, (x,), (y,)),
    "grad": under_grad,
    "export": lambda x, y: torch.export.export(torch.nn.Flatten(0), (x,)).module()(y),
    "jacfwd": lambda x, _: torch.func.jacfwd(lambda w: (x * w).sum((1, 2)))(torch.ones(3, 1, 1)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("transform", [TRAIN, T.Compose([T.Resize((20, 20)), T.ToTensor()])])
def test_readers_that_do_not_ask_get_the_values(reader: str, transform: Any, files: list[Path]) -> None:
    mine = READERS[reader](*(waiting(path, transform) for path in files))
    theirs = READERS[reader](*(plain(path, transform) for path in files))
    assert difference(mine, theirs) == ""


@pytest.mark.skipif(
    not hasattr(torch._C, "_set_storage_data_ptr_access_error_msg"), reason="torch's builds with CUDA have it"
)
def test_a_reader_that_nobody_knows_gets_an_error(files: list[Path]) -> None:
    """And neither a crash nor other values; afterwards the sample is what it was."""
    compose_calls.leave()
    sample, tensor = waiting(files[0]), torch.empty(3, 20, 20)
    direct_readers.leave()
    tensor.data = sample
    for look in (lambda: tensor.sum(), lambda: tensor.tolist(), lambda: dlpack.to_dlpack(sample)):
        with pytest.raises(RuntimeError, match=r"gofast: .*detach\(\)"):
            look()
    assert difference(sample + 0, plain(files[0])) == ""


def test_without_cuda_what_might_write_gets_an_error(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(torch._C, "_set_storage_data_ptr_access_error_msg", raising=False)
    monkeypatch.setattr(lazy_samples, "_refuse", lazy_samples._refusal())
    compose_calls.leave()
    sample, tensor = waiting(files[0]), torch.empty(3, 20, 20)
    direct_readers.leave()
    tensor.data = sample
    with pytest.raises(RuntimeError, match="data pointer"):
        tensor.zero_()
    assert difference(sample + 0, plain(files[0])) == ""


def test_uninstall_puts_torchs_back() -> None:
    compose_calls.leave()
    before = _stand()
    with gofast.install():
        assert all(a is not b for a, b in zip(before, _stand(), strict=True))
        assert torch.Tensor.data is torch._C.TensorBase.data  # what others compare with
    assert all(a is b for a, b in zip(before, _stand(), strict=True))


def _stand() -> list[Any]:
    functions = [dlpack.to_dlpack, names.to_dlpack, torch.jit.trace, torch.jit.trace_module]
    return [*functions, vars(torch.nn.Parameter)["__new__"], vars(torch.Tensor).get("data")]
