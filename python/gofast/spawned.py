"""The ``__main__`` of a process that was spawned under `python -m gofast`: gofast, then the script."""

import json as _json
import os as _os
import runpy as _runpy

from gofast import running as _running

if __name__ == "__mp_main__":
    _running.begin_spawned()
    _runs = _json.loads(_os.environ[_running.RUNS])
    if "path" in _runs:
        globals().update(_runpy.run_path(_runs["path"], run_name="__mp_main__"))
    else:
        globals().update(_runpy.run_module(_runs["module"], run_name="__mp_main__", alter_sys=True))
