"""Under pytest-xdist: a conversation stays whole on one worker, whatever `--dist` says.

`_units.py` decides what is next, `_scheduling.py` says so to xdist, `_controller.py` and `_worker.py` are the hooks of
either side, `_wire.py` is what they tell each other. Where a worker dies, `_ledger.py` knows what it had told,
`_scene.py` where the conversation stood, and `_recovery.py` what becomes of it; `_far.py` is what a worker on another
machine tells of its journal meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.plugin._xdist._controller import Controller
from pytest_ltm.plugin._xdist._worker import Worker

if TYPE_CHECKING:
    from pytest_ltm.plugin._run import LtmRun


def hooks(run: LtmRun) -> Controller | Worker:
    """Return the hooks of this process."""
    return Worker(run) if run.is_worker else Controller(run)
