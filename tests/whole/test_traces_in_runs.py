"""`--ltm-traces`: the spans of an agent in a run."""

from __future__ import annotations

import json

import pytest

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytest.importorskip("opentelemetry.proto", reason="the extra `otel` is not installed")

BOT = '''
import json, os, re, time, urllib.request

class Bot:
    """Keeps what it is told word for word, and says so in spans."""
    def __init__(self):
        self.kept = []
    def reply(self, message):
        if "?" in message:
            self.span("search_memory", self.kept[::-1][:5])
            return self.kept[-1] if self.kept else "nothing"
        self.kept.append(message)
        self.span("create_memory", [message])
        return "ok"
    def span(self, operation, texts):
        records = json.dumps([{"content": one} for one in texts])
        values = {"gen_ai.operation.name": operation, "gen_ai.memory.records": records}
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        span = {"startTimeUnixNano": str(time.time_ns()), "attributes": attributes}
        self.post(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode())
    def post(self, body):
        url = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        if url:
            urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"})).read()

class Liar(Bot):
    """Sends garbage, forged and huge spans beside."""
    def span(self, operation, texts):
        super().span(operation, texts)
        if operation == "search_memory":
            super().span(operation, ["my favourite colour is every colour"] * 5000)
        super().span("delete_memory", [])
        try:
            self.post(b"[" * 100000)
        except OSError:
            pass
'''


@WHOLE_RUN
@pytest.mark.slow
def test_in_a_run_spans_are_measured_and_change_no_score(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(span_bots=BOT)
    asked = [
        "--ltm-span=2k",
        "--ltm-suite=hygiene",
        "-k",
        "forget_on_request or never_told",
        "--ltm-no-probe",
    ]
    rows = {}
    for name, agent, more in (
        ("plain", "Bot", []),
        ("traced", "Bot", ["--ltm-traces=auto"]),
        ("lied", "Liar", ["--ltm-traces=auto"]),
    ):
        pytester.runpytest_inprocess(
            f"--ltm-agent=bot=span_bots:{agent}", f"--ltm-dir={name}", *asked, *more
        )
        [summary] = (pytester.path / name).glob("runs/*/summary.json")
        rows[name] = json.loads(summary.read_text())["results"][0]
    assert "memory" not in rows["plain"]
    assert rows["traced"]["memory"]["kept"] == 1
    assert rows["traced"]["memory"]["deleted_served"] >= 0
    assert {row["total"] for row in rows.values()} == {rows["plain"]["total"]}
    assert {row["pass_rate"]["passed"] for row in rows.values()} == {
        rows["plain"]["pass_rate"]["passed"]
    }


SDK = '''
import json
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

class Bot:
    """Keeps what it is told word for word; its exporter knows nothing of the run."""
    def __init__(self):
        self.kept, self.provider = [], TracerProvider()
        self.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer = self.provider.get_tracer("bot")
    def reply(self, message):
        asked = "?" in message
        texts = self.kept[::-1] if asked else [message]
        with self.tracer.start_as_current_span("memory") as span:
            span.set_attribute("gen_ai.operation.name", "search_memory" if asked else "create_memory")
            span.set_attribute("gen_ai.memory.records", json.dumps([{"content": one} for one in texts]))
        if not asked:
            self.kept.append(message)
        return " ".join(texts) if asked else "ok"
    def close(self):
        self.provider.shutdown()
'''


@pytest.mark.slow
def test_an_agent_with_the_sdks_own_exporter_is_measured_as_it_is(
    pytester: pytest.Pytester,
) -> None:
    pytest.importorskip(
        "opentelemetry.exporter.otlp.proto.http",
        reason="the SDK's exporter is not installed",
    )
    pytester.makepyfile(sdk_bot=SDK)
    pytester.makepyfile(
        test_home="""
        def test_home(ltm):
            ltm.say("Ada lives in Porto.", tells={"Ada's home": "Porto"})
            ltm.say("Ada has moved to Turku.", tells={"Ada's home": "Turku"})
            ltm.wait(span=0.9)
            ltm.check("names the town", "Turku" in ltm.ask("Where does Ada live?"))
        """
    )
    pytester.runpytest_subprocess(
        "--ltm-agent=sdk_bot:Bot", "--ltm-traces=auto", "test_home.py"
    ).assert_outcomes(passed=1)
    [summary] = pytester.path.glob(".ltm/runs/*/summary.json")
    memory = json.loads(summary.read_text())["results"][0]["memory"]
    assert (
        memory["kept"],
        memory["updated"],
        memory["found"],
        memory["stale_served"],
    ) == (1, 1, 1, 1)


@WHOLE_RUN
@pytest.mark.slow
@pytest.mark.parametrize("reply", ["def reply", "async def reply"])
def test_conversations_at_once_are_told_apart_by_the_trace_of_each_exchange(
    pytester: pytest.Pytester, reply: str
) -> None:
    pytest.importorskip(
        "opentelemetry.exporter.otlp.proto.http",
        reason="the SDK's exporter is not installed",
    )
    pytester.makepyfile(sdk_bot=SDK.replace("def reply", reply))
    pytester.makepyfile(
        test_home="""
        def test_home(ltm):
            town = ltm.random.choice(["Porto", "Brno", "Ghent", "Split"])
            ltm.say(f"Ada lives in {town}.", tells={"Ada's home": town})
            ltm.wait(span=0.9)
            ltm.check("names the town", town in ltm.ask("Where does Ada live?"))
        """
    )
    pytester.runpytest_subprocess(
        "--ltm-agent=sdk_bot:Bot",
        "--ltm-traces=auto",
        "--ltm-trials=4",
        "--ltm-concurrency=4",
        "test_home.py",
    ).assert_outcomes(passed=4)
    results = [
        json.loads(file.read_text())
        for file in pytester.path.glob(".ltm/runs/*/*/results.json")
    ]
    facts = [
        row["memory"]["facts"] for result in results for row in result["scenarios"]
    ]

    assert [(fact["lag"], fact["rank"] > 0) for [fact] in facts] == [(0, True)] * 4
