"""The judge of a run is asked about three answers with known grades, before any agent costs anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ltm._journal import judge_precheck as _canaries
from pytest_ltm._journal.checksum_chain import find_damages
from pytest_ltm._journal.cost import JUDGE, OPINION, TokenUse
from pytest_ltm._journal.journal import Journal
from pytest_ltm._journal.judge_precheck import FILE, JOURNAL, TIMINGS
from pytest_ltm._journal.result import Precheck
from pytest_ltm._journal.timings import Timings
from pytest_ltm._storage.disk import disk_fault, read_regular
from pytest_ltm._storage.errors import BudgetSpent
from pytest_ltm.agents.reader.memory import count_tokens
from pytest_ltm.plugin import options as _options
from pytest_ltm.plugin.conversation_setup import connection_of
from pytest_ltm.plugin.judging import NONE, run_judge

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.judges._connection import JudgeConnection
    from pytest_ltm.judges._registry import NamedJudge
    from pytest_ltm.plugin.session import LtmRun


LOCK = ".canaries.lock"
CURE = "Measure it with 'ltm judge-check'; --ltm-judge-canaries=off measures all the same"


class Canaries:
    """Asks once in a run, in whichever process comes first; what the judge said is in the run folder."""

    def __init__(self, run: LtmRun) -> None:
        self._run, self._folder = run, run.folder.path

    def pytest_sessionstart(self) -> None:
        """Forget a judge's failure when the run is resumed: by now it may be better."""
        if self._run.plays and self._run.resumed is not None:
            precheck = _canaries.read_precheck(self._folder)
            if precheck is not None and precheck.verdict == "wrong":
                for name in (FILE, JOURNAL):
                    (self._folder / name).unlink(missing_ok=True)

    def fault(self, _session: pytest.Session) -> str:
        """Return why the judge's grades cannot be relied on, or ""."""
        judge = run_judge(self._run.config)
        if judge is None or _options.option_value(self._run.config, "ltm_judge_canaries") == "off":
            return ""
        from filelock import FileLock

        with FileLock(self._folder / LOCK):  # the others wait for what is found out here
            precheck = _canaries.read_precheck(self._folder)
            if precheck is None:
                precheck = self._graded_before(judge) or self._graded(judge)
                if precheck.verdict != "unfinished":
                    _canaries.write_precheck(self._folder, precheck)
        return f"{precheck.why}. {CURE}" if precheck.verdict == "wrong" else ""

    def forecast(self) -> TokenUse:
        """Return what asking them would take."""
        settings = self._run.settings
        if settings.judge == NONE or _options.option_value(self._run.config, "ltm_judge_canaries") == "off":
            return TokenUse()
        from pytest_ltm.judges._canaries import CANARIES

        sizes = [count_tokens(canary.inquiry.text) for canary in CANARIES]
        return TokenUse(messages=len(sizes), tokens_in=sum(sizes), tokens_out=len(sizes) * OPINION)

    def _graded_before(self, judge: NamedJudge) -> Precheck | None:
        """Return what this judge's canaries came to in the run that is scored again; None if it must be asked."""
        source = self._run.settings.rescored
        precheck = None if source is None else _canaries.read_precheck(source)
        if precheck is None or (precheck.of, precheck.verdict) != (judge.described, "right"):
            return None
        return replace(precheck, calls=0, tokens=0, cost_usd=None, estimated=False)

    def _graded(self, judge: NamedJudge) -> Precheck:
        path, tariff = self._folder / JOURNAL, self._run.costs.judge.tariff
        try:
            whole = read_regular(path) if path.exists() else b""
        except OSError as error:
            raise disk_fault(path, error) from error
        if next(find_damages(whole), None) is not None:  # three questions are soon asked again
            path.replace(path.with_name(f"{path.name}.damaged"))
            whole = b""
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])
        journal, timings = Journal.resuming(path), Timings.resuming(self._folder / TIMINGS)
        connection = connection_of(
            judge, self._run.settings, journal, timings, of=JUDGE, votes=1, tariff=tariff,
            account=self._run.costs.account(JOURNAL, agent=JUDGE),
        )  # fmt: skip
        precheck = Precheck(kind="canaries", of=judge.described, verdict="unfinished")
        try:
            why = _first_canary_fault(connection)
            precheck = replace(precheck, verdict="wrong" if why else "right", why=why)
        except BudgetSpent:
            pass
        finally:
            connection.close()
            journal.close()
            timings.close()
        calls, tokens, usd, guessed = _canaries.precheck_usage(self._folder, tariff)
        return replace(precheck, calls=calls, tokens=tokens, cost_usd=usd, estimated=guessed)


def _first_canary_fault(connection: JudgeConnection) -> str:
    from pytest_ltm.judges._canaries import CANARIES

    return next(filter(None, (canary.fault(connection.handle(canary.name)) for canary in CANARIES)), "")
