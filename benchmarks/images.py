"""Measures pictures through gofast and its peers: `python -m benchmarks.images`, or `make bench-images`.

One process a peer; rounds are interleaved (A B C, A B C, ...), so that a machine that slows down slows
everybody down. What a peer gives is compared with torchvision's before it is timed.
"""

from __future__ import annotations

import argparse
import contextlib

from benchmarks import environments, figures, images_data, images_report, run
from benchmarks.client import Client
from benchmarks.images_report import FIRST, MEMORY, TWO, cpu
from benchmarks.peers.images import FRESH, OURS, OWN, PEERS, PIL, PLAIN, ROOFS, TENSORS, WORKERS, python
from benchmarks.peers.images.contract import KINDS, TRAIN

MODULE = "benchmarks.images_child"
SECTIONS = (*KINDS, FIRST, MEMORY, "growth")
TURN, QUICK_TURN = 2.0, 0.2  # seconds at least
GROWTH_EPOCHS = 50
FIRST_BATCHES = 5  # a round: one takes no longer than a blink


class ImagesRun(run.Run):
    """One run over pictures."""

    def __init__(self, options: argparse.Namespace, folder: images_data.Folder) -> None:
        super().__init__(images_report.IMAGES, options, 1 if options.quick else options.rounds)
        self.folder, self.turn = folder, QUICK_TURN if options.quick else TURN
        self.differences: dict[str, float] = {}
        self.notes: dict[str, str] = {}

    def best_workers(self, kinds: list[str], search: bool) -> dict[str, set[str]]:
        """The kinds that each peer with workers is measured in: the worker count that is best in one turn;
        for PIL also 2, which gofast's 2 are compared with, and 0, whose processor time is one thread's."""
        chosen: dict[str, set[str]] = {f"{PIL}, {n} workers": set(kinds) for n in (0, 2)}
        for peer in (PIL, TENSORS):
            names = self.asked([f"{peer}, {n} workers" for n in WORKERS])
            if not search or self.wanted is not None:  # those that are named are measured
                for name in names if self.wanted is not None else [f"{peer}, 2 workers"]:
                    chosen.setdefault(name, set(kinds))
                continue
            times: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
            for name in names:
                with Client(MODULE) as client:
                    client.ask("open", peer=name, folder=self.folder.once)
                    for kind in kinds:
                        client.ask("check", kind=kind, compared=False)
                        times[kind][name] = client.ask("turn", kind=kind, seconds=self.turn)["seconds"]
            for kind in kinds:
                best = min(times[kind], key=lambda name: times[kind][name])
                chosen.setdefault(best, set()).add(kind)
                shown = ", ".join(f"{1 / t:.0f} img/s with {name}" for name, t in times[kind].items())
                self.say(f"{kind}: {shown}")
        return chosen

    def epochs(self, kinds: list[str], search: bool) -> None:
        """All peers, one process each, in turn."""
        workers = self.best_workers(kinds, search)
        candidates = {f"{peer}, {n} workers" for peer in (PIL, TENSORS) for n in WORKERS} | {FRESH}
        with contextlib.ExitStack() as stack:
            clients: dict[str, Client] = {}
            plan: list[tuple[str, str]] = []
            names = self.asked([name for name in PEERS if name not in candidates or name in workers])
            started = {name: self.started_client(name, stack) for name in names}  # all import meanwhile
            for name, client in started.items():
                if client is None:
                    continue
                if self.ask(client, name, "open", name in OURS, peer=name, folder=self.folder.path) is None:
                    continue
                checked = []
                for kind in sorted(workers.get(name, set(kinds)), key=kinds.index):
                    answer = self.ask(client, name, "check", name in OURS, kind=kind)
                    if answer is None:
                        break
                    if answer["difference"] is not None:
                        self.differences[f"{name}, {kind}"] = answer["difference"]
                    if kind == TRAIN and name not in ROOFS:
                        self.add(MEMORY, name, answer["bytes"])
                    if answer["note"]:
                        self.notes[name] = answer["note"]
                    checked.append((kind, name))
                    self.say(f"{name}, {kind}: checked, difference {answer['difference']}")
                else:
                    plan += checked
                    clients[name] = client
            plan.sort(key=lambda step: kinds.index(step[0]))
            for kind, name in self.in_turn(plan):
                if name not in clients:
                    continue
                answer = self.ask(clients[name], name, "turn", name in OURS, kind=kind, seconds=self.turn)
                if answer is None:
                    del clients[name]
                    continue
                self.add(kind, name, answer["seconds"])
                self.add(cpu(kind), name, answer["cpu"])

    def started_client(self, name: str, stack: contextlib.ExitStack) -> Client | None:
        """A process in the peer's environment; None if that is not to be had here, and the reason is kept."""
        try:
            return stack.enter_context(Client(MODULE, python(name), waits=False))
        except ImportError as error:
            self.is_missing(name, str(error))
            return None

    def first_batch(self) -> None:
        """From iter() to the first batch, in turn."""
        with contextlib.ExitStack() as stack:
            clients = {name: stack.enter_context(Client(MODULE)) for name in self.asked([FRESH, TWO])}
            for name, client in clients.items():
                client.ask("open", peer=name, folder=self.folder.once)
                client.ask("first_batch")  # what is loaded once a process
            for _ in range(self.rounds * FIRST_BATCHES):
                for name, client in clients.items():
                    self.add(FIRST, name, client.ask("first_batch")["seconds"])
        self.say("first batch: done")

    def growth(self) -> None:
        """Many epochs: memory, descriptors and threads must stay where they are."""
        for name in self.asked([f"{OWN}, 2 threads", PLAIN]):
            with Client(MODULE) as client:
                client.ask("open", peer=name, folder=self.folder.once)
                self.growths[name] = figures.growth(client.ask("growth", epochs=GROWTH_EPOCHS)["readings"])
            self.say(f"growth, {name}: {self.growths[name]}")


def main() -> None:
    """Measures, then writes the JSON, the plot and README's table."""
    parser = run.parser("images", __doc__, 3, f"sections of {','.join(SECTIONS)}")
    parser.add_argument(
        "--peers",
        type=lambda text: set(text.split(";")),
        help="only these peers, by their names, with ';' between",
    )
    parser.add_argument("--list", action="store_true", help="say the peers' names")
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    options = parser.parse_args()
    if options.list:
        print("\n".join(PEERS))
        return
    wrong = [*(set(options.only or ()) - set(SECTIONS)), *((options.peers or set()) - set(PEERS))]
    if wrong:
        raise SystemExit(f"unknown: {', '.join(wrong)}; see --list and --help")
    if options.only and MEMORY in options.only and TRAIN not in options.only:
        raise SystemExit(f"{MEMORY} is that of the peers in {TRAIN}: --only {TRAIN},{MEMORY}")
    folder = images_data.prepare(options.folder, 1 if options.quick else images_data.LINKS)
    images = ImagesRun(options, folder)
    wanted = options.only or (SECTIONS[:-1] if options.quick else SECTIONS)
    kinds = [kind for kind in KINDS if kind in wanted]
    if kinds:
        images.epochs(kinds, search=not options.quick)
    if FIRST in wanted:
        images.first_batch()
    if MEMORY not in wanted:
        images.measured.pop(MEMORY, None)
    if "growth" in wanted:
        images.growth()
    images.finish(
        images_report.about(folder),
        **{
            "unit": "seconds a picture; first batch: seconds; memory: bytes",
            "mean difference from torchvision": images.differences,
            "not measured": {**environments.not_installed(), **images.missing},
            "notes": images.notes,
            "growth": images.growths,
        },
    )


if __name__ == "__main__":
    main()
