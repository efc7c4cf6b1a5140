"""Numbers as people read them never say zero, all or one where it is not so."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.readable import duration, in_a_line, percent, prefixed, printable, rounded

SHARES = st.floats(min_value=1e-9, max_value=1 - 1e-9)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        *((0, "0%"), (1, "100%"), (0.5, "50.0%"), (1.03, "103.0%"), (0.05, "5.0%")),
        *((0.0095, "0.95%"), (0.00999, "1.00%"), (0.00038, "0.038%"), (0.000001, "0.00010%")),
        *((0.1 + 0.2, "30.0%"), (1 - 1e-16, "100%"), (math.nan, "nan%")),
    ],
)
def test_a_share_in_percent(share, text):
    assert percent(share) == text


@given(SHARES)
def test_a_share_that_is_neither_nothing_nor_all_does_not_read_so(share):
    assert 0 < float(percent(share).removesuffix("%")) < 100


@given(SHARES, SHARES)
def test_the_greater_share_never_reads_as_the_smaller(one, other):
    low, high = sorted((one, other))
    read = [float(percent(share).removesuffix("%")) for share in (low, high)]
    assert read[0] <= read[1]


@given(st.floats(min_value=1e-3, max_value=1e15))
def test_no_duration_or_measurement_has_an_exponent(number):
    for text in (duration(number), rounded(number)):
        assert not re.search("e[+-]", text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0 s"), (0.034, "0.034 s"), (9.96, "10 s"), (220, "3 min 40 s")),
        *((59.7, "1 min 0 s"), (3600, "1 h 0 min")),
    ],
)
def test_a_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((0, "0 B"), (999.4, "999 B"), (999.6, "1 kB"), (40_000, "40 kB")),
        # Beyond all prefixes is the last.
        *((1e30, "1e+06 YB"), (math.inf, "inf YB")),
    ],
)
def test_a_quantity_takes_the_prefix_of_its_size(number, text):
    assert prefixed(number, "B") == text


@pytest.mark.parametrize(
    "harmful", ["\x1b[2J", "\x9b2J", "\r", "\b", "\x7f", "\u202e", "\u2066", "\u2028", "\udc9b"]
)
def test_what_does_something_to_a_terminal_is_spelled(harmful):
    shown = printable(f"a{harmful}\tb\u200c▁ы\n")
    assert shown == f"a\\u{ord(harmful[0]):04x}{harmful[1:]}\tb\u200c▁ы\n"
    assert in_a_line(f"{harmful}\n") == f"{harmful}\\n"


@given(st.text(st.characters()))
def test_json_says_the_same_when_it_is_printable(text):
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("between", ["", " ", "\n", ","])
def test_of_a_long_value_an_error_shows_a_line_and_its_remedy(between):
    value = between.join(10_000 * "x")
    shown = in_a_line(f"--set: {value} is wrong; give another. https://a:{1000 * 'b'}@host")
    assert len(shown) < 1300
    assert shown.startswith("--set: x")
    assert shown.endswith("x is wrong; give another. https://***@host")
