"""Where files from servers are kept, and how many bytes of them."""

from __future__ import annotations

import os

from ._core.arguments import checked
from ._core.download_cache import DownloadBudget

__all__ = ["keep"]


@checked
def keep(cache_dir: str | os.PathLike[str] | None = None, cache_limit: int | str | None = None) -> None:
    """Says where this process, and those that it starts, keep the files of URLs.

    Wherever gofast takes the path of a file, it takes a URL: ``http(s)://``, ``s3://``, and the schemes of
    fsspec where that is installed. The file is downloaded once for all processes of the host, and again when
    its server says that it has changed. Files in use stay; of others, some go when the limit would be passed.

    Args:
        cache_dir: the folder, on a local disk; None: GOFAST_DOWNLOADS of the environment, or the folder
            ``gofast/downloads`` of the user's cache.
        cache_limit: the bytes that all of them may take: a number, or a text such as ``"200GB"``;
            None: GOFAST_DOWNLOADS_LIMIT of the environment, or 50 GB.

    Raises:
        gofast.errors.OptionError: the limit is no number of bytes (a ValueError).

    Example:
        >>> gofast.downloads.keep("~/downloads", "1GB")
    """
    DownloadBudget.of(cache_dir, cache_limit).keep()
