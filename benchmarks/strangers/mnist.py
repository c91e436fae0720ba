"""pytorch/examples: mnist/main.py, and PyTorch's quickstart with FashionMNIST."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import Case, gofast
from benchmarks.strangers.files import Files


def mnist(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """As mnist/main.py makes it."""
    transform = T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
    dataset = datasets.MNIST(files.mnist(), train=True, transform=transform)
    return kind(dataset, batch_size=64, num_workers=workers, shuffle=True)


def fashion(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """As the tutorial makes it."""
    root = files.mnist("FashionMNIST")
    dataset = datasets.FashionMNIST(root=root, train=True, download=False, transform=T.ToTensor())
    return kind(dataset, batch_size=64, num_workers=workers)


CASES = {
    "mnist": Case(mnist, lambda files, workers: mnist(files, workers, gofast().DataLoader), 500),
    "fashion": Case(fashion, lambda files, workers: fashion(files, workers, gofast().DataLoader), 500),
}
