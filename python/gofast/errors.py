"""All errors and warnings of gofast: one class for each error of the Go core.

Every error derives from :class:`GofastError`, and from the built-in exception that a user
would expect, so ``except FileNotFoundError`` and ``except ValueError`` work.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

__all__ = [
    "BadImageError",
    "BadSampleWarning",
    "BadValueError",
    "CanceledError",
    "ChangedError",
    "ClosedError",
    "DamagedError",
    "DeviceError",
    "EngineError",
    "FallbackWarning",
    "FormatError",
    "GofastError",
    "GofastWarning",
    "InternalError",
    "LimitError",
    "MissingValueError",
    "NotFoundError",
    "OptionError",
    "ReadError",
    "RowIndexError",
    "SchemaError",
    "UnknownCategoryError",
    "UnknownLabelError",
    "UnsupportedError",
]


Error = TypeVar("Error", bound="GofastError")


class GofastError(Exception):
    """Base of all errors of gofast.

    Attributes:
        path: the file, or ``None``.
        row: 0-based data row, or ``None``.
        line: 1-based line of a text file, counted as an editor does, with header, blank lines and
            newlines in quotes; ``None`` for other files.
        column: name of the column, or ``None``.
        offset: byte offset in the file, or ``None``.
        index: the row index that was asked for, or ``None``.
        debug: stack of the Go core, for :class:`InternalError`.
    """

    path: str | None = None
    row: int | None = None
    line: int | None = None
    column: str | None = None
    offset: int | None = None
    index: int | None = None
    debug: str | None = None

    def at(self: Error, **place: Any) -> Error:
        """The same error, which says where it is by some of the attributes."""
        self.__dict__.update(place)
        return self

    def __reduce__(self) -> Any:
        # Python keeps these three beside the attributes, and pickles them only where they are arguments.
        names = ("errno", "strerror", "filename") if isinstance(self, OSError) else ()
        kept = {name: getattr(self, name) for name in names}
        return type(self), self.args, {**self.__dict__, **kept}

    def __str__(self) -> str:
        # KeyError and OSError would quote or reformat the sentence.
        return str(self.args[0]) if self.args else ""


class NotFoundError(GofastError, FileNotFoundError):
    """A path, or every path of a pattern, does not exist.

    What to do: check the path; a relative one starts at the current folder, and a pattern must match a file.
    """


class ReadError(GofastError, OSError):
    """The operating system refused to open, read, write or map a file.

    What to do: the text has the system's reason: permissions, a full disk, a network drive that is gone.
    """


class ChangedError(GofastError, OSError):
    """A file was modified or cut while it was being read.

    What to do: replace files by renaming, not by writing into them; open the dataset again.
    """


class FormatError(GofastError, ValueError):
    """The content has no format that gofast knows.

    What to do: convert the file to CSV, Parquet or npy; the text names the format if it is a known one.
    """


class DamagedError(GofastError, ValueError):
    """The content claims a format but breaks its rules.

    What to do: copy or download the file again; the text says where it breaks. Remove a damaged cache.
    """


class UnsupportedError(GofastError, ValueError):
    """The content is valid but uses a feature that gofast does not have.

    What to do: the text names the feature; write the file again without it.
    """


class SchemaError(GofastError, ValueError):
    """Columns are missing, duplicated, or differ between files.

    What to do: give ``columns=``, ``exclude=`` or ``label=``; all files of one table need the same columns.
    """


class BadValueError(GofastError, ValueError):
    """A cell is not a number, or no storage type holds it exactly.

    What to do: look at the named line and column; leave the column out by ``exclude=``, or give
    ``categories=``, ``dates=``, ``header=`` or another ``dtype=``.
    """


class MissingValueError(GofastError, ValueError):
    """A cell is empty, null or NaN and no ``fill_value`` was given.

    What to do: give ``fill_value=``, a number or ``float("nan")``; labels must all be there.
    """


class UnknownLabelError(GofastError, ValueError):
    """A label is not one of the classes that were given, or not a label of their kind.

    What to do: give ``classes=`` all names, those of the training data; look at the named row.
    """


class UnknownCategoryError(GofastError, ValueError):
    """A cell is not one of the names that ``categories=`` gives its column.

    What to do: add the name to ``categories=``, or mend the named cell.
    """


class LimitError(GofastError, ValueError):
    """A size would exceed the memory limit or another configured limit.

    What to do: if you trust the file, raise the limit: ``limits={"memory": ...}``. Give ``cache=`` for a
    table larger than memory.
    """


class RowIndexError(GofastError, IndexError):
    """A row index lies outside the dataset.

    What to do: indices go from ``-len(dataset)`` to ``len(dataset) - 1``; look at the sampler.
    """


class OptionError(GofastError, ValueError):
    """An option has a value that makes no sense.

    What to do: the text says which values make sense.
    """


class DeviceError(GofastError, RuntimeError):
    """The driver of a GPU is missing, or refused a call.

    What to do: the text has the driver's reason; without a usable GPU, leave ``device=`` out.
    """


class CanceledError(GofastError):
    """The work was cancelled.

    What to do: nothing, if you closed the loader or pressed Ctrl-C; otherwise begin a new epoch.
    """


class ClosedError(GofastError, RuntimeError):
    """The engine, dataset or loader was closed before the call.

    What to do: make a new loader or dataset instead of using one that was closed.
    """


class InternalError(GofastError, RuntimeError):
    """A bug in gofast; ``debug`` holds the stack of the Go core.

    What to do: report it, with the text and ``debug``.
    """


class BadImageError(GofastError, OSError):
    """A picture that Pillow cannot read either. Python only.

    What to do: mend or remove the named file, or give ``on_error=`` and look at ``bad_samples()``.
    """


class EngineError(GofastError, RuntimeError):
    """The native engine cannot be loaded in this process. Python only.

    What to do: the text says what is missing: a wheel for this platform, or 1 GiB below ``ulimit -v``.
    """


class GofastWarning(UserWarning):
    """Base of all warnings of gofast: a default does not do what a user may expect.

    Every text says what to do about it. ``warnings.filterwarnings("ignore",
    category=gofast.errors.GofastWarning)`` silences all of them.

    What to do: what the text says.
    """


class BadSampleWarning(GofastWarning, RuntimeWarning):
    """A picture could not be read, and on_error decided. Warns of the first; ``bad_samples()`` has all.

    What to do: look at ``dataset.bad_samples()``; ``max_bad=`` makes too many of them an error.
    """


class FallbackWarning(GofastWarning):
    """A loader runs on torch's own machinery, or a whole transform in Python: correct, but not fast.

    What to do: nothing has to be done; ``print(gofast.explain(loader))`` shows how it becomes fast.
    """


# The names that the Go core uses (gofast/internal/errs). A test compares the two lists.
KINDS: dict[str, type[GofastError]] = {
    "NotFound": NotFoundError,
    "Read": ReadError,
    "Changed": ChangedError,
    "Format": FormatError,
    "Damaged": DamagedError,
    "Unsupported": UnsupportedError,
    "Schema": SchemaError,
    "Value": BadValueError,
    "Missing": MissingValueError,
    "Label": UnknownLabelError,
    "Category": UnknownCategoryError,
    "Limit": LimitError,
    "Index": RowIndexError,
    "Config": OptionError,
    "Device": DeviceError,
    "Canceled": CanceledError,
    "Closed": ClosedError,
    "Internal": InternalError,
}


def from_native(error: Exception) -> GofastError:
    """The typed error of a ``RuntimeError`` that the native module raised.

    Args:
        error: the exception of a native call; its text is JSON.

    Returns:
        An error to raise; an :class:`InternalError` when the text is not ours.
    """
    try:
        fields = json.loads(str(error))
        made = KINDS[fields["kind"]](fields["message"])
    except (ValueError, KeyError, TypeError):
        return InternalError(str(error))
    made.path = fields.get("path")
    made.column = fields.get("column")
    made.debug = fields.get("debug")
    for name in ("row", "line", "offset", "index"):
        value = fields.get(name, -1)
        setattr(made, name, None if value == -1 else value)
    return made
