"""``text=``: what becomes of columns of texts."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .. import errors
from .._core.arguments import checked
from .._loader.batch_source import check_callable

# What a row is padded with, by the end of the name: "question_input_ids" are ids too.
IDS, MASK = "input_ids", "attention_mask"
_BLANKS = {MASK: 0, "special_tokens_mask": 1}
_TYPES = "token_type_ids"


@checked
@dataclasses.dataclass(frozen=True)
class Text:
    """What becomes of a column of texts: see ``text=`` of :class:`gofast.TableDataset`.

    Batches equal those of ``tokenizer(texts, padding=..., truncation=..., return_tensors="pt")`` and of
    transformers' ``DataCollatorWithPadding``; but each different text is tokenized once, when the dataset is
    made.

    Args:
        tokenizer: called with a list of some texts. It returns their ids, a list of ints for each; or a
            mapping as Hugging Face's tokenizers do, with ``"input_ids"``, and perhaps ``"attention_mask"``,
            ``"token_type_ids"`` and ``"special_tokens_mask"``, or names that end in these. What it returns
            of a text must not depend on other texts. None: samples have the text itself.
        padding: ``"longest"``: to the longest row of the batch; ``"max_length"``.
        truncation: the tokenizer is called with ``truncation=True``, and ``max_length=`` if there is one.
        max_length: see these two.
        pad_to_multiple_of: widths are multiples of this.
        padding_side: ``"left"`` or ``"right"``; default the tokenizer's own, or the right.
        pad_token_id: default the tokenizer's own; needed if it has no such attribute.
        missing: the text that stands for an empty or null cell, such as ``""``; None: that is an error.
        identity: with ``cache=``, a name for what the tokenizer does, such as ``"words 2"``: its ids are used
            as long as it has this name, so change it with the tokenizer. Hugging Face's fast tokenizers need
            none: they are known by their content.

    Raises:
        gofast.errors.OptionError: an option makes no sense.

    Example:
        >>> def as_bytes(texts):
        ...     return [list(text.encode()) for text in texts]
        >>> letters = gofast.tokens.Text(as_bytes, pad_token_id=0)
        >>> train = gofast.TableDataset("flowers.csv", text={"colour": letters}, columns=[], label=None)
        >>> train[:]["input_ids"].tolist()
        [[114, 101, 100, 0], [98, 108, 117, 101]]
    """

    tokenizer: Callable[..., Any] | None = None
    padding: Literal["longest", "max_length"] = "longest"
    truncation: bool = False
    max_length: int | None = None
    pad_to_multiple_of: int | None = None
    padding_side: Literal["left", "right"] | None = None
    pad_token_id: int | None = None
    missing: str | None = None
    identity: str | None = None

    def __post_init__(self) -> None:
        check_callable(tokenizer=self.tokenizer)
        if self.padding not in ("longest", "max_length"):
            raise errors.OptionError(f'padding={self.padding!r} is not "longest" or "max_length"')
        if self.padding_side not in ("left", "right", None):
            raise errors.OptionError(f'padding_side={self.padding_side!r} is not "left" or "right"')
        if self.missing is not None and not isinstance(self.missing, str):
            raise errors.OptionError(f"missing={self.missing!r}: give the text that stands for a missing one")
        if self.identity is not None and not isinstance(self.identity, str):
            raise errors.OptionError(f"identity={self.identity!r}: give a name of what the tokenizer does")
        if self.padding == "max_length" and self.max_length is None:
            raise errors.OptionError('padding="max_length" needs max_length=')
        if self.max_length is not None and self.padding == "longest" and not self.truncation:
            raise errors.OptionError('max_length= is for padding="max_length" and for truncation=True')

    def blank(self, name: str) -> int:
        """What rows of this name are padded with.

        Raises:
            OptionError: ids, of a tokenizer that has nothing to pad them with.
            UnsupportedError: it is not known.
        """
        for end, blank in _BLANKS.items():
            if name.endswith(end):
                return blank
        if name.endswith(_TYPES):
            return int(getattr(self._says, "pad_token_type_id", 0))
        if not name.endswith(IDS):
            known = ", ".join((IDS, _TYPES, *_BLANKS))
            raise errors.UnsupportedError(
                f"the tokenizer gives {name!r}: what ends in {known} is padded; leave others out"
            )
        value = getattr(self._says, "pad_token_id", None) if self.pad_token_id is None else self.pad_token_id
        if value is None:
            raise errors.OptionError(
                "the tokenizer has no pad_token_id: say what its ids are padded with, "
                "gofast.tokens.Text(tokenizer, pad_token_id=0)"
            )
        return operator.index(value)

    @property
    def _says(self) -> Any:
        """What has the tokenizer's attributes, where it is a partial or a method of that."""
        found: Any = self.tokenizer
        while isinstance(found, functools.partial):
            found = found.func
        return getattr(found, "__self__", found)

    @property
    def left(self) -> bool:
        """Whether rows are padded on their left side."""
        return (self.padding_side or getattr(self._says, "padding_side", "right")) == "left"

    def without_tokenizer(self) -> Text:
        """The same for a column that is tokenized."""
        return dataclasses.replace(self, tokenizer=None, identity=None)

    def width(self, longest: int) -> int:
        """The width of a batch whose longest row has so many values."""
        width = longest if self.padding == "longest" or self.max_length is None else self.max_length
        each = self.pad_to_multiple_of or 1
        return -(-width // each) * each


TextOption = str | Sequence[str] | Mapping[str, Text | Callable[..., Any] | None] | None


def text_options(text: TextOption) -> dict[str, Text]:
    """What the user says of each column of texts.

    Raises:
        OptionError: it is something else.
    """
    if isinstance(text, str):
        text = [text]
    if text is not None and not isinstance(text, (Sequence, Mapping)):
        raise errors.OptionError(f"text={text!r:.80}: give a column, several, or a mapping to tokenizers")
    given = text if isinstance(text, Mapping) else dict.fromkeys(text or ())
    if text is not None and (len(given) < len(text) or not all(isinstance(name, str) for name in given)):
        raise errors.OptionError(f"text={text!r:.80}: give different names of columns")
    return {name: one if isinstance(one, Text) else Text(one) for name, one in given.items()}
