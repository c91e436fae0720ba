"""The same pictures through each peer, one file a peer."""

from __future__ import annotations

import importlib

from benchmarks.peers.images.contract import Peer

WORKERS = (0, 1, 2, 4)
OWN, PLAIN = "gofast.DataLoader", "gofast, torch's DataLoader"
FRESH = "torchvision PIL, 2 fresh workers"
DALI, BARE = "DALI CPU, 2 threads", "bare C pipeline"
PIL, TENSORS = "torchvision PIL", "torchvision v2 tensors"

# Name on the command line and in the tables -> (module of this package, attribute, key). Modules are
# imported in the measuring process only; where that fails the peer is reported as not measured.
PEERS: dict[str, tuple[str, str, int | None]] = {
    **{f"{PIL}, {n} workers": ("torchvision_", "PIL", n) for n in WORKERS},
    **{f"{TENSORS}, {n} workers": ("torchvision_", "TENSORS", n) for n in WORKERS},
    "OpenCV, 2 workers": ("opencv", "PEER", None),
    "datago": ("datago_", "PEER", None),
    "SPDL, 2 threads": ("spdl_", "PEER", None),
    DALI: ("dali", "PEER", None),
    PLAIN: ("gofast_", "PLAIN", 0),
    f"{PLAIN}, 2 workers": ("gofast_", "PLAIN", 2),
    f"{OWN}, 1 thread": ("gofast_", "OWN", 1),
    f"{OWN}, 2 threads": ("gofast_", "OWN", 2),
    f"{BARE}, 1 thread": ("bare", "FILL", 1),
    f"{BARE}, 2 threads": ("bare", "FILL", 2),
    "decode alone, whole": ("bare", "DECODE", None),
    "decode alone, what is needed": ("bare", "DECODE_NEEDED", None),
    FRESH: ("torchvision_", "FRESH", None),
}

# Why a peer that users would look for is not among them.
LEFT_OUT = {
    "FFCV": "no wheels; building it takes the C++ headers of OpenCV and libturbojpeg",
}


def peer(name: str) -> Peer:
    """The peer called name; imports its module."""
    module, attribute, key = PEERS[name]
    found = getattr(importlib.import_module(f"benchmarks.peers.images.{module}"), attribute)
    if key is not None:
        found = found[key]
    assert isinstance(found, Peer)
    return found
