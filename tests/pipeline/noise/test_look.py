"""A look is the same however a text is divided; signs of noise are what they seem."""

import random

import numpy as np
import pytest

from pipeline.core.documents import Document
from pipeline.noise import look as looking
from pipeline.noise.decontamination import runs_of
from pipeline.noise.filters import clean, line_number
from pipeline.noise.look import Bounds, bounds_for, html_remnants, is_list, look_lines, misread
from pipeline.noise.near_copies import word_hashes
from schemas.config import DataConfig

ALL = bounds_for(0)
FEW = Bounds(1 << 62, 1 << 62)


def documents(number):
    draws = random.Random(number)
    for place in range(number):
        words = " ".join(f"w{draws.randrange(900)}" for _ in range(40))
        yield place * 7919 << 36, Document(("Accept all cookies", f"{words} {place}."))


def looked_at(parts, bounds, **options):
    results = []
    for part in parts:
        looker = looking.Looker(bounds)
        for number, document in part:
            looker.see(number, document)
            text = "\n".join(document.paragraphs)
            looker.see_runs(number, runs_of(word_hashes(text), text))
        results.append(looker.result())
    options.setdefault("is_held_out", lambda number: number % (5 << 36) == 0)
    return looking.sum_up(results, bounds, **options)


@pytest.mark.parametrize("bounds", [ALL, FEW, Bounds(0, 1 << 60)])
def test_order_and_chunks_do_not_matter(bounds):
    texts = list(documents(200))
    whole = looked_at([texts], bounds)
    for chunks in (1, 2, 7, 40):
        random.Random(chunks).shuffle(texts)
        assert looked_at([texts[i::chunks] for i in range(chunks)], bounds) == whole


def test_a_document_that_comes_again_is_one_of_the_sample():
    given = list(documents(30))
    once, twice = looked_at([given], ALL), looked_at([given, given], ALL)
    assert once["sampled_documents"] == twice["sampled_documents"] == 30
    assert once["repeated_share"] == twice["repeated_share"]


def test_some_documents_are_looked_at_where_the_text_is_few_long_ones():
    look = looked_at([list(documents(40))], Bounds(0, 0))
    assert look["sampled_documents"] == looking.LEAST_DOCUMENTS


def test_lines_of_many_documents_are_counted_by_what_the_sample_stands_for():
    texts = list(documents(2000))
    share = 18 * 2000 / sum(len("".join(document.paragraphs)) for _, document in texts)
    for bounds in (ALL, FEW):
        look = looked_at([texts], bounds)
        ((line, times),) = look["repeated_lines"]
        assert line == "Accept all cookies"
        assert times == pytest.approx(2000, rel=0.01 if bounds == ALL else 0.1)
        assert look["repeated_share"] == pytest.approx(share, rel=0.05)


def test_a_line_of_as_many_documents_as_allowed_is_no_repeated_one():
    few = [(n, Document((f"Number {n}", "Menu"))) for n in range(10)]
    assert looked_at([few], ALL)["repeated_lines"] == []
    more = [*few, (11, Document(("Menu",)))]
    assert looked_at([more], ALL)["repeated_lines"] == [["Menu", 11]]


@pytest.mark.parametrize(("most_repeats", "said"), [(None, ["Menu"]), (10, []), (500, ["Menu"])])
def test_no_line_is_a_repeated_one_where_such_lines_were_dropped(most_repeats, said):
    """However many of its documents are in the sample."""
    texts = [(n << 56, Document((f"Number {n}", "Menu"))) for n in range(11)]
    look = looked_at([texts], ALL, most_repeats=most_repeats)
    assert [line for line, _ in look["repeated_lines"]] == said


def test_shares_are_of_the_text_and_long_documents_count_whole():
    short = [(n, Document(("Слово за словом.",))) for n in range(1000)]
    long = (5000, Document(tuple("abcde fghij" for _ in range(12_000))))
    look = looked_at([[*short, long]], ALL)
    latin, cyrillic = 10 * 12_000, 13 * 1000
    assert look["scripts"]["Latin"] == pytest.approx(latin / (latin + cyrillic), abs=0.01)
    assert look["longest_document"] == 11 * 12_000


def test_the_share_of_held_out_text_in_training_text_is_that_of_its_runs():
    draws = random.Random(3)
    own = [" ".join(str(draws.random()) for _ in range(200)) for _ in range(40)]
    held_out = [(n, Document((text,))) for n, text in enumerate(own)]
    trained = [(100 + n, Document((text,))) for n, text in enumerate(own[:10])]
    options = {"is_held_out": lambda number: number < 100}
    before = looked_at([held_out, trained], ALL, **options)
    assert before["held_out_share"] == before["held_out_share_before"] == 0.25
    after = looked_at([held_out, trained], ALL, gone={100, 101}, **options)
    assert after["held_out_share_before"] == 0.25
    assert after["held_out_share"] == pytest.approx(0.2)
    some = looked_at([held_out, trained], Bounds(1 << 64, 1 << 63), **options)
    assert some["held_out_share"] == pytest.approx(0.25, abs=0.02)
    assert "held_out_share" not in looked_at([trained], ALL, **options)


@pytest.mark.parametrize("bounds", [ALL, Bounds(1 << 64, 1 << 62)])
def test_near_copies_are_the_text_of_documents_that_nearly_equal_another(bounds):
    draws = random.Random(3)
    own = [[str(draws.random()) for _ in range(400)] for _ in range(40)]
    texts = [(n, Document((" ".join(words),))) for n, words in enumerate(own)]
    # Of 400 words one is another; every twentieth is; every second is.
    for n, places in ((100, [7]), (101, range(0, 400, 20)), (102, range(0, 400, 2))):
        for words in own[10 * (n - 100) :][:10]:
            changed = words.copy()
            for place in places:
                changed[place] = str(draws.random())
            texts.append((n + 10 * len(texts), Document((" ".join(changed),))))
    assert looked_at([texts], bounds)["near_copy_share"] == pytest.approx(20 / 70, abs=0.01)
    gone = {number for number, _ in texts[40:50]}
    assert looked_at([texts], bounds, gone=gone)["near_copy_share"] == 0


def test_nothing_is_said_of_near_copies_where_most_text_has_too_little_in_the_sample():
    draws = random.Random(3)
    long = [[str(draws.random()) for _ in range(400)] for _ in range(25)]
    short = [[str(draws.random()) for _ in range(20)] for _ in range(600)] * 2
    texts = [(n, Document((" ".join(w),))) for n, w in enumerate([*long, *short])]
    few = Bounds(1 << 64, 1 << 61)
    assert "near_copy_share" not in looked_at([texts], few)
    assert looked_at([texts[:25]], few)["near_copy_share"] == 0


def test_languages_are_weighted_by_their_text():
    texts = [(1, Document(("a" * 30,))), (2, Document(("b" * 90,)))]
    look = looked_at([texts], ALL, language_of=lambda text: text[0])
    assert look["languages"] == {"b": 0.75, "a": 0.25}


def test_texts_that_cannot_be_written_are_shown():
    seen = looking.look_at(Document(("half \ud800 &amp; cut",)))
    assert seen["html"] == "half ? &amp; cut"


def test_an_empty_text_has_a_look():
    look = looked_at([[]], ALL)
    assert look["documents"] == look["sampled_documents"] == 0
    assert look["repeated_share"] == 0.0


def test_the_bounds_follow_the_size_of_the_text():
    whole, part = bounds_for(1000), bounds_for(80 << 20)
    assert whole == ALL
    assert part.documents == pytest.approx(0.1 * 2**64)
    assert np.uint64(part.shingles) > 0


def test_lines_that_were_joined_are_a_share_of_all_lines():
    verse = Document(("He came late.", "Why?"), lines=5)
    listed = Document(("One.", "Two.", "Three."), lines=3)
    page = Document(("A page.", "Its end."))
    assert looked_at([enumerate([verse, listed, page])], ALL)["joined_share"] == 0.3


def test_lines_that_were_taken_out_were_not_joined():
    page = Document(("Menu", "One.", "Sign in", "Two."), lines=4)
    repeated = set(map(line_number, ("Menu", "Sign in")))
    left, _ = clean(page, DataConfig(max_line_repeats=1), repeated=repeated)
    verse = Document(("He came late.", "Why?"), lines=4)
    assert looked_at([enumerate([left])], ALL)["joined_share"] == 0
    # Two of the two lines of the page and the four of the verse.
    assert looked_at([enumerate([left, verse])], ALL)["joined_share"] == 0.333333


PLAIN = {
    "scripts": {"Latin": 1.0},
    "languages": {"en": 1.0},
    "longest_document": 2000,
    "repeated_share": 0.0,
    "repeated_more_than": 10,
    "html_share": 0.0,
    "mojibake_share": 0.0,
    "list_share": 0.0,
}


@pytest.mark.parametrize(
    ("look", "line"),
    [
        (
            {"languages": {"en": 0.75, "de": 0.25}},
            "languages 75.0% en, 25.0% de (make-data --keep-languages en keeps one)",
        ),
        (
            {"longest_document": 2_000_000},
            "a document has 2,000,000 characters: if its file holds several, put blank lines "
            "between paragraphs and <|endoftext|> between documents, or give JSON lines",
        ),
        (
            {"near_copy_share": 0.25},
            "25.0% is in documents that nearly equal others (make-data --near-duplicates drop "
            "keeps one of each)",
        ),
    ],
    ids=["languages", "a long document", "near copies"],
)
def test_what_is_unusual_in_a_text_has_a_line(look, line):
    prose = [{"format": "prose"}]
    assert list(look_lines(PLAIN | look, prose)) == [f"text: {line}"]
    # Nor is anything said of the text of an older data set, which has no look.
    assert list(look_lines(PLAIN, prose)) == list(look_lines({}, prose)) == []


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
    wrong = "".join(bytes([byte]).decode(encoding, errors="ignore") or chr(byte) for byte in data)
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
        *("a&nbsp;b", "&#8217;s", "&#x27;", "<br/>", "</div>", "<p class='x'>Hello", "<!-- menu"),
        *('nav class="menu-item" end', "<IMG SRC='a.png'>"),
    ],
)
def test_remnants_of_html_are_seen(text):
    assert html_remnants(text)


@pytest.mark.parametrize(
    "text",
    [
        *("a < b > c", "x<y", "AT&T; R&D", "I <3 you", "<Name> said", "if (a<p && p>b)"),
        *("rock & roll", "class = first"),
    ],
)
def test_other_marks_are_no_remnants_of_html(text):
    assert html_remnants(text) == []


@pytest.mark.parametrize(
    ("lines", "is_seen"),
    [
        ([f"Item {n} 3.50" for n in range(9)], True),
        (["Sign in", "Menu", "Home", "We sell bolts and nuts.", "Shop"], True),
        (["“Why?”", "“No.”", "He left.", "She stayed.", "Rain fell."], False),
        ([f"A long heading of a chapter {n} " * 5 for n in range(9)], False),
        (["เขามา", "เธอไป", "ฝนตก", "ไม่มีใครรู้", "ทำไม"], False),
        (["Bolt 3", "Nut 4"], False),
    ],
)
def test_lists_and_tables_are_seen_and_no_prose_dialogue_or_scripts_without_stops(lines, is_seen):
    assert is_list(lines) == is_seen
