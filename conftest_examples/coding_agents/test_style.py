import pytest


@pytest.mark.ltm(requires=["TakesTools"])
def test_style(ltm):
    (ltm.workspace / "README.md").write_text("A project.\n", "utf-8")
    ltm.say("We indent with tabs in this project.")
    ltm.wait(span=0.8)
    ltm.ask("Write style.md for newcomers.")
    ltm.check_file("style.md", "tabs", without=["spaces"])
    ltm.check_file("README.md", "A project.")
