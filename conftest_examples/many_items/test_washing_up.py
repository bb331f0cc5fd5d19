from test_turns import SAID


def test_the_table_was_cleared_once_after_its_module():
    assert SAID.count("laid") == SAID.count("cleared") == 1
