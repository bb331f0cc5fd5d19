import pytest

SAID = []


@pytest.fixture(scope="module")
def table():
    SAID.append("laid")
    yield SAID
    SAID.append("cleared")


@pytest.fixture(params=["soup", "fish"])
def course(request):
    return request.param


def test_a_course_is_served_in_two_turns(turns, table, course, tmp_path):
    (tmp_path / "order").write_text(course)
    table.append(f"{course} ordered")
    turns.pause()
    table.append(f"{(tmp_path / 'order').read_text()} served")


def test_output_belongs_to_who_printed_it(turns, capsys):
    print("first")
    turns.pause()
    print("second")
    assert capsys.readouterr().out == "first\nsecond\n"


def test_others_print_meanwhile(turns, capsys):
    print("other")
    turns.pause()
    assert capsys.readouterr().out == "other\n"


def test_a_failure_is_its_own(turns, request):
    turns.pause()
    assert request.getfixturevalue("course_of_tomorrow") == "stew"


@pytest.fixture
def course_of_tomorrow():
    return "leftovers"


def test_courses_overlapped_and_the_table_was_laid_once():
    assert SAID == [
        "laid",
        "soup ordered",
        "fish ordered",
        "soup served",
        "fish served",
    ]
