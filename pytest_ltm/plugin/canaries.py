"""The judge of a run is asked about three answers with known grades, before any agent costs anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._engine.cost import JUDGE
from pytest_ltm._record.journal import Journal
from pytest_ltm._record.resume import CANARY_JOURNAL, CANARY_TIMINGS
from pytest_ltm._record.timings import Timings
from pytest_ltm._storage.errors import BudgetSpent
from pytest_ltm.plugin import options as _options
from pytest_ltm.plugin.judging import run_judge
from pytest_ltm.plugin.opening import connection_of

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.judges._connection import JudgeConnection
    from pytest_ltm.plugin.session import LtmRun


LOCK = ".canaries.lock"
CURE = "Measure it with 'ltm judge-check'; --ltm-judge-canaries=off measures all the same"


class Canaries:
    """Asks once in a run, in whichever process comes first; what the judge said is in the run folder."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run

    def fault(self, _session: pytest.Session) -> str:
        """Return why the judge's grades cannot be relied on, or ""."""
        judge = run_judge(self._run.config)
        if judge is None or _options.value(self._run.config, "ltm_judge_canaries") == "off":
            return ""
        from filelock import FileLock

        folder = self._run.folder.path
        with FileLock(folder / LOCK):  # the others wait for what is found out here
            path = folder / CANARY_JOURNAL
            whole = path.read_bytes() if path.exists() else b""
            path.write_bytes(whole[: whole.rfind(b"\n") + 1])
            journal, timings = Journal.resuming(path), Timings.resuming(folder / CANARY_TIMINGS)
            connection = connection_of(
                judge, self._run.settings, journal, timings, of=JUDGE, votes=1, tariff=self._run.costs.judge.tariff,
                account=self._run.costs.account(CANARY_JOURNAL, agent=JUDGE),
            )  # fmt: skip
            try:
                why = _first(connection)
            except BudgetSpent:
                return ""
            finally:
                connection.close()
                journal.close()
                timings.close()
            if why:  # by the time that the run is resumed the judge may be better
                path.unlink()
        return f"{why}. {CURE}" if why else ""


def _first(connection: JudgeConnection) -> str:
    from pytest_ltm.judges._check import CANARIES

    return next(filter(None, (canary.fault(connection.handle(canary.name)) for canary in CANARIES)), "")
