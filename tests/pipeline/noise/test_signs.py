"""Signs of noise are found in every language, and not in what only looks like them."""

import pytest

from pipeline.noise.look import html_remnants, is_list, misread

TEXTS = (
    "L'été, où ça coûte 5 € — «déjà vu» à la maison.",
    "Größe, Straße, Ärger: „schön“ – sagt man.",
    "Zażółć gęślą jaźń, proszę pana.",
    "Він прочитав усю книжку про їхній край.",
    "Ёжик пошёл в лес, где жили его друзья.",
    "Η γλώσσα είναι ένα σύστημα επικοινωνίας.",
)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "latin-1"])
def test_text_read_with_a_wrong_encoding_is_seen(text, encoding):
    data = text.encode()
    wrong = "".join(
        bytes([byte]).decode(encoding, errors="ignore") or chr(byte) for byte in data
    )
    assert misread(" ".join(wrong.split()))


@pytest.mark.parametrize(
    "text",
    [
        *TEXTS,
        "«Ні», – сказала вона. Ці її діти. НІМІ ВІЙНИ. Ґанок і Ґрунт.",
        "CAFÉ» et «ÉTÉ», NÃO! À É. 5Â",
        "ТОЇ САМОЇ „ВІІ“ РОЇ»",
        "日本語の文章。한국어 문장.",
    ],
)
def test_text_that_was_read_rightly_is_not(text):
    assert misread(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a&nbsp;b",
        "&#8217;s",
        "&#x27;",
        "<br/>",
        "<p class='x'>Hello",
        "</div>",
        "<!-- menu",
        'nav class="menu-item" end',
        "<IMG SRC='a.png'>",
    ],
)
def test_remnants_of_html_are_seen(text):
    assert html_remnants(text)


@pytest.mark.parametrize(
    "text",
    [
        "a < b > c",
        "x<y",
        "AT&T; R&D",
        "I <3 you",
        "<Name> said",
        "if (a<p && p>b)",
        "rock & roll",
        "class = first",
    ],
)
def test_marks_that_are_no_html_are_not(text):
    assert not html_remnants(text)


def test_lists_and_tables_are_seen():
    assert is_list([f"Item {n} 3.50" for n in range(9)])
    assert is_list(["Sign in", "Menu", "Home", "We sell bolts and nuts.", "Shop"])


def test_prose_dialogue_and_scripts_without_full_stops_are_not():
    assert not is_list(["“Why?”", "“No.”", "He left.", "She stayed.", "Rain fell."])
    assert not is_list([f"A long heading of a chapter {n} " * 5 for n in range(9)])
    assert not is_list(["เขามา", "เธอไป", "ฝนตก", "ไม่มีใครรู้", "ทำไม"])
    assert not is_list(["Bolt 3", "Nut 4"])
