import pytest

from pytest_ltm import FillerExchange


class Weather:
    """Weather reports, one per line, up to the requested number of tokens."""

    def __init__(self, rng, counter):
        self.rng, self.counter = rng, counter

    def make(self, tokens, max_message_tokens):
        reply = "Thank you."
        lines = ["Here are the weather reports of today."]
        size = self.counter.count(lines[0]) + self.counter.count(reply)
        while size < tokens:
            line = f"\nStation {self.rng.randrange(1000)}: {self.rng.randrange(30)} degrees."
            if size + self.counter.count(line) > max_message_tokens:
                break  # the rest is sent in another message
            lines.append(line)
            size += self.counter.count(line)
        return FillerExchange("".join(lines), reply)

    def configuration(self):
        """The settings that the texts depend on: part of the plan's fingerprint."""
        return {"filler": "weather", "version": 1}


@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_filler(spec, rng, counter):
    return Weather(rng, counter) if spec == "weather" else None
