from pathlib import Path

import pytest

from pytest_ltm import Score

LOG = Path(__file__).with_name("exchanges.log")


def pytest_configure():
    LOG.unlink(missing_ok=True)


def note(line):
    with LOG.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@pytest.hookimpl(optionalhook=True)
def pytest_ltm_exchange(conversation, exchange):
    note(
        f"{conversation} #{exchange.number} {exchange.message_tokens + exchange.reply_tokens} tokens"
    )


@pytest.hookimpl(optionalhook=True)
def pytest_ltm_verdict(nodeid, verdict):
    note(f"{nodeid}: {verdict.value if isinstance(verdict, Score) else verdict.reason}")
