"""doctor: measures a loader, says what its bottleneck is, and tries what may help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ._core.arguments import checked

if TYPE_CHECKING:
    from ._doctor.report import DoctorReport


@checked
def doctor(
    loader: Iterable[Any], step: Callable[[Any], object] | None = None, *, seconds: float = 10
) -> DoctorReport:
    """Measures a DataLoader, names its bottleneck in plain words, and tries what may help.

    First the loop runs as it is: batches, and a step for each. If it waits for the loader, that is taken
    apart: sampler, reading, decoding, the transform step by step, collate, the way from worker to loop. Then
    changes that fit the verdict are tried, in turns with the loader as it is. Only those that were faster in
    every round are advised.

    All of this runs in forked processes, which end with the call: the loader, its dataset and all generators
    stay as they are. Only the loop with a `step` of yours runs in this process, as a model on a GPU must; the
    generators get their states back, but the model has taken steps.

    Args:
        loader: torch's DataLoader, gofast's, or any iterable of batches that can be iterated again.
        step: called with each batch: your training step, with the copy to the device. None simulates one: a
            wait as long as a fast GPU may take for such a batch.
        seconds: about how long all of it takes; more where single batches take long.

    Returns:
        A report: ``print`` it, or look at ``code``, ``healthy``, ``evidence`` and ``advised``. ``save``
        writes an HTML page with plots, ``to_dict`` gives all figures.

    Raises:
        TypeError: loader cannot be iterated, or is an iterator that would be used up; step is not callable.
        OptionError: seconds is not from 0.5 to 3600.

    A loader that raises, hangs or loses its workers gives the verdict ``"failed"`` with the reason. Ctrl-C
    gives the report of what is known by then, once there is a verdict to give.

    Example:
        >>> print(gofast.doctor(loader, lambda batch: train_step(*batch)))
    """
    from ._doctor.diagnosis import diagnose

    return diagnose(loader, step, seconds)
