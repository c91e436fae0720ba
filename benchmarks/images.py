"""Measures pictures through gofast and its peers: `python -m benchmarks.images`, or `make bench-images`.

What a peer gives is compared with torchvision's before it is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
from typing import Any

from benchmarks import data, environments, report, run, sides
from benchmarks.client import Client
from benchmarks.images_report import FIRST, IMAGES, MEMORY, TWO
from benchmarks.peers.images import DECODERS, FRESH, OURS, PEERS, ROOFS
from benchmarks.peers.images.contract import BATCH, KINDS, TRAIN, VAL

SECTIONS = (*KINDS, FIRST)
QUICK_TURN = 0.2
WORDS = {  # what is made of pictures, for gofast-bench
    TRAIN: ["--order", "shuffle", "--transform", "randomresizedcrop=224,hflip,normalize=imagenet"],
    VAL: ["--transform", "resize=256,centercrop=224,normalize=imagenet"],
}
FIRST_BATCHES = 5  # a round: one takes no longer than a blink


class ImagesRun(sides.SidesRun):
    """One run over pictures."""

    with_cpu = True

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(IMAGES, options, QUICK_TURN)
        self.differences: dict[str, float] = {}
        self.notes: dict[str, str] = {}

    def python(self, side: str) -> str:
        return environments.python(PEERS[side][0])

    def named(self, section: str, side: str) -> str:
        return side

    def needed(self, side: str) -> bool:
        return side in OURS

    def opened(self, section: str, side: str, answer: dict[str, Any]) -> None:
        if answer["difference"] is not None:
            self.differences[f"{side}, {section}"] = answer["difference"]
        if section == TRAIN and side not in ROOFS:
            self.add(MEMORY, side, answer["bytes"])
        if answer["note"]:
            self.notes[side] = answer["note"]

    def decode_alone(self, kind: str, folder: str) -> None:
        """The decoder by itself, on two threads, with the user's libjpeg."""
        command = ["go", "run", "./benchmarks/gofast-bench", "roof", folder, "--threads", "2", "--json"]
        done = subprocess.run(
            [*command, "--epochs", str(self.rounds), *WORDS[kind]],
            env={**os.environ, **environments.libjpeg()}, cwd=report.ROOT, check=True, capture_output=True,
        )  # fmt: skip
        found = json.loads(done.stdout)
        for roof in found["limits"][0]["roofs"]:
            if roof["name"] in DECODERS:
                seconds = roof["median_seconds_an_epoch"] / found["work"]["samples"]
                self.add(kind, DECODERS[roof["name"]], seconds)

    def first_batch(self, folder: str) -> None:
        """From iter() to the first batch, in turn."""
        with contextlib.ExitStack() as stack:
            clients = {name: stack.enter_context(Client(sides.MODULE)) for name in self.asked([FRESH, TWO])}
            for name, client in clients.items():
                client.ask("open", benchmark="images", section=TRAIN, side=name, folder=folder)
                client.ask("first_batch", side=name)  # what is loaded once a process
            for name in self.in_turn(list(clients), FIRST, self.rounds * FIRST_BATCHES):
                self.add(FIRST, name, clients[name].ask("first_batch", side=name)["seconds"])


def main() -> None:
    """Measures, then writes the JSON, the plot and the page's table."""
    parser = run.parser("images", __doc__, 3, f"sections of {','.join(SECTIONS)}", SECTIONS)
    parser.add_argument("--peers", type=run.words(PEERS, ";"), help="only these peers, with ';' between")
    parser.add_argument("--list", action="store_true", help="say the peers' names")
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    options = parser.parse_args()
    if options.list:
        print("\n".join(PEERS))
        return
    images = ImagesRun(options)
    folder = images.folder(data.LINKS)
    for section in images.only or SECTIONS:
        if section == FIRST:
            images.first_batch(folder.once)
        else:
            images.measure(section, [name for name in PEERS if name != FRESH], folder.path)
            if images.wanted is None:
                images.decode_alone(section, folder.path)
    about = {"name": folder.name, "pictures": folder.pictures, "repeats": folder.repeats}
    images.finish(
        {**about, "bytes a picture": folder.bytes, "batch": BATCH},
        **{
            "unit": "seconds a picture; first batch: seconds; memory: bytes",
            "mean difference from torchvision": images.differences,
            "not measured": {**environments.not_installed(), **images.missing},
            "notes": images.notes,
        },
    )


if __name__ == "__main__":
    main()
