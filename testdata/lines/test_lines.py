import configparser_copy as configparser
import difflib_copy as difflib
import odd
import textwrap_copy as textwrap


def test_loops():
    assert odd.loops(5) == (7, True)


def test_handled():
    assert odd.handled(lambda: 1) == -2
    assert odd.handled(lambda: {}[1]) == "1"


def test_raises():
    try:
        odd.handled(lambda: 1 / 0)
    except ValueError:
        pass


def test_nested():
    assert odd.nested([1, 0, 4]) == [2, None, 1]


def test_lazily():
    assert next(odd.lazily(2)) == 2


def test_exhausted():
    assert list(odd.lazily(1)) == [1, "end"]


def test_around():
    with odd.around([]) as log:
        pass
    assert log == ["before", "after"]


def test_matched():
    assert odd.matched([1, 2]) == 3
    assert odd.matched("x") == "other"


def test_otherwise():
    assert odd.matched(None) == "other"


def test_lambda():
    assert odd.by_lambda([1, 2])[0] == [2, 1]


def test_box():
    box = odd.Box()
    box.half = 2
    assert box.half == 2


def test_wrap():
    assert textwrap.wrap("one two three", 8) == ["one two", "three"]
    assert textwrap.dedent("  a\n  b") == "a\nb"


def test_shorten():
    assert textwrap.shorten("one two three four", 12) == "one [...]"


def test_diff():
    assert list(difflib.unified_diff(["a\n", "b\n"], ["a\n", "c\n"]))[-1] == "+c\n"
    assert difflib.get_close_matches("appel", ["ape", "apple", "peach"]) == ["apple", "ape"]


def test_parser():
    parser = configparser.ConfigParser()
    parser.read_string("[a]\nx = 1\ny = %(x)s2\n# nothing\n[b]\nz =\n  3\n  4\n")
    assert parser.getint("a", "y") == 12
    try:
        parser.read_string("[a\n")
    except configparser.MissingSectionHeaderError:
        pass
    assert parser.get("c", "z", fallback=None) is None
