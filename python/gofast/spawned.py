"""The ``__main__`` of a process that was spawned under `python -m gofast`: gofast, then the script."""

import json as _json
import sys as _sys
from multiprocessing import spawn as _spawn

from gofast import running as _running

if __name__ == "__mp_main__":
    _main = _json.loads(_sys.path.pop())
    _running.begin_spawned()
    _spawn.prepare(_main)
    globals().update(__spec__=None, __file__=None)  # not this module's, where the script has none
    globals().update(vars(_sys.modules["__main__"]))
