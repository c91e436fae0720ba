"""An extension of griffe: it knows code only below "Examples:", and no roles such as :class:`name`."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Writes docstrings as griffe reads them."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """See the base class."""
        if obj.docstring is not None:
            text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r":(?:class|meth|func):`", "`", text)
