"""The same pictures through each peer, one file a peer."""

from __future__ import annotations

import importlib

from benchmarks import environments
from benchmarks.peers.images.contract import WORKERS, Peer

OWN, PLAIN = "gofast.DataLoader", "gofast, torch's DataLoader"
FRESH = "torchvision PIL, 2 fresh workers"
DALI, BARE = "DALI CPU, 2 threads", "bare C pipeline"
PIL, TENSORS = "torchvision PIL", "torchvision v2 tensors"

ROOFS = (f"{BARE}, 1 thread", f"{BARE}, 2 threads")
# Those of `gofast-bench roof`, by its names.
DECODERS = {
    "decode whole pictures": "decode alone, whole",
    "decode what is needed": "decode alone, what is needed",
}

# Name on the command line and in the tables -> (module of this package, attribute, key). Modules are
# imported in the measuring process only; where that fails the peer is reported as not measured.
PEERS: dict[str, tuple[str, str, int | None]] = {
    **{f"{PIL}, {n} workers": ("torchvision_", "PIL", n) for n in WORKERS},
    **{f"{TENSORS}, {n} workers": ("torchvision_", "TENSORS", n) for n in WORKERS if n},
    "OpenCV, 2 workers": ("opencv", "PEER", None),
    "datago": ("datago_", "PEER", None),
    "SPDL, 2 threads": ("spdl_", "PEER", None),
    "Grain, 2 threads": ("grain_", "PEER", None),
    "tf.data, 2 threads": ("tfdata", "PEER", None),
    DALI: ("dali", "PEER", None),
    "FFCV jpg, 2 threads": ("ffcv_", "JPG", None),
    "FFCV raw, 2 threads": ("ffcv_", "RAW", None),
    PLAIN: ("gofast_", "PLAIN", 0),
    f"{PLAIN}, 2 workers": ("gofast_", "PLAIN", 2),
    f"{OWN}, 1 thread": ("gofast_", "OWN", 1),
    f"{OWN}, 2 threads": ("gofast_", "OWN", 2),
    ROOFS[0]: ("bare", "FILL", 1),
    ROOFS[1]: ("bare", "FILL", 2),
    FRESH: ("torchvision_", "FRESH", None),
}
OURS = {name for name, (module, _, _) in PEERS.items() if module in ("gofast_", "bare", "torchvision_")}


def python(name: str) -> str:
    """The interpreter of the peer called name. Raises ImportError if its environment is not there."""
    return environments.python(PEERS[name][0])


def peer(name: str) -> Peer:
    """The peer called name; imports its module."""
    module, attribute, key = PEERS[name]
    found = getattr(importlib.import_module(f"benchmarks.peers.images.{module}"), attribute)
    if key is not None:
        found = found[key]
    assert isinstance(found, Peer)
    return found
