import pytest

from pipeline.core.documents import NO_TEXT, Document
from pipeline.reading import plain_text
from pipeline.reading.plain_text import read_sentences, recognise_text, split_paragraphs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He came.\nShe left.\n\nWhy?\nNo one knew.\n", "sentences"),
        ("He came.\nShe left.\n", "sentences"),
        ("It was late when the miller\ncame home.\n\nNo one\nknew.\n", "prose"),
        ("He came.\n\nShe left.\n\nIt rained.\n", "prose"),
        ("彼は来た。\n彼女は去った。\n\n雨が降った。\n誰もいない。\n", "sentences"),
        ("彼は来た。彼女は去った。\n雨が降った。誰もいない。\n", "prose"),
        ("「行こう。」と彼は言った。\n彼女は去った。\n", "sentences"),
        ("وہ آیا۔\nوہ چلی گئی۔\n\nبارش ہوئی۔\nکوئی نہیں۔\n", "sentences"),
        ("वह आया। वह गई।\nबारिश हुई। कोई नहीं।\n", "prose"),
        ("", "prose"),
    ],
)
def test_sentences_are_told_from_prose(text, expected):
    assert recognise_text(text.splitlines()) == expected


def test_sentences_without_a_blank_line_have_no_documents():
    lines = ["He came.", "She left.", "It rained."]
    assert recognise_text(lines, is_whole=False) == "bookcorpus"
    assert recognise_text([*lines, ""], is_whole=False) == "sentences"


# Lines as nobody wraps them: of a page, of a post, of a note, of an announcement.
PAGE = """Beginner knitting evening
Bring two needles and a ball of wool
We meet in the library. Tea is served at eight
Where: Mill Lane 4"""
POST = """Міський ринок знову відкрито
У суботу після двох років ремонту ринок знову відчинив двері. Здали вже сорок яток
Години роботи: з вівторка до суботи
стоянка в неділю безкоштовна"""
NOTE = """Chief complaint: cough
no fever, no chills
Plan: rest and fluids. Return in a week if it is no better
seen by A. Miller"""
NOTICE = """今晚的讀書會
請帶一本你最喜歡的書和一杯茶。
地點：磨坊巷四號
時間：每隔一個星期一晚上七點半開始，請準時。"""

# Lines that were wrapped: a letter, verse of an old print, a page in Chinese.
LETTER = """Dear Ada, it was late when the miller came home, and no one knew
where he had been. He sat by the fire until the clock struck two
and then went up without a word. I shall ask him in the morning,
if the morning is fine and he is in the mood for it."""
PRINT = """introduced him to the Canon himself, the Canon - a wearied-looking
cleric with side whiskers and a not too new coat, a clergyman reported
to be in difficulties even with his butcher - the cook said so, and
she had it from the boy who brings the meat."""
CHINESE_PRINT = """磨坊主人回家的时候已经很晚了，没有人知道他去
了哪里。他坐在火边直到时钟敲了两下，然后一句话
也没说就上楼去了。我早上会问他，如果天气好而且
他愿意说的话。"""


@pytest.mark.parametrize("text", [PAGE, POST, NOTE, NOTICE])
def test_the_lines_of_a_record_are_paragraphs(text):
    paragraphs, lines = split_paragraphs(text, is_record=True)
    assert paragraphs == text.split("\n")
    assert lines == len(paragraphs)


@pytest.mark.parametrize("text", [LETTER, PRINT, CHINESE_PRINT])
def test_the_lines_of_a_record_are_joined_where_they_were_wrapped(text):
    ((paragraph,), _) = split_paragraphs(text, is_record=True)
    space = "" if text == CHINESE_PRINT else " "
    assert paragraph == text.replace("\n", space)


def test_only_those_lines_of_a_record_are_joined_that_were_wrapped():
    listing = "if it rains:\ngo home\nelse:\nstay here"
    text = f"{LETTER}\n\n{listing}\n\n{PRINT}"
    assert split_paragraphs(text, is_record=True)[0] == [
        LETTER.replace("\n", " "),
        *listing.split("\n"),
        PRINT.replace("\n", " "),
    ]


@pytest.mark.parametrize(
    "documents",
    [
        [PAGE, LETTER.replace("\n", " "), NOTE.replace("\n", " ") + "\nSigned\nA. M."],
        [POST, POST],
        [
            "Der Markt am alten Hafen hat nach zwei Jahren wieder geöffnet. Vierzig "
            "Stände sind vermietet\nGeöffnet: Dienstag bis Samstag",
            "Der Chor sucht Tenöre\nGeprobt wird donnerstags um sieben im Rathaus. "
            "Niemand muss vorsingen, jeder ist willkommen",
        ],
        ["วันนี้อากาศดีมาก\nผมไปตลาดกับแม่ตอนเช้า\nฝนตก", "รถไฟขบวนแรกออกตอนหกโมง\nไม่มีใครลืมร่ม"],
        ["ມື້ນີ້ອາກາດດີ\nຂ້ອຍໄປຕະຫຼາດກັບແມ່ໃນຕອນເຊົ້າ\nຝົນຕົກ", "ລົດໄຟອອກ\nບໍ່ມີໃຜລືມຄັນຮົ່ມ"],
    ],
)
def test_blank_lines_stand_between_documents_of_a_paragraph_a_line(documents):
    lines = "\n\n".join(documents).split("\n")
    assert recognise_text(lines) == "paragraphs"
    assert ["\n".join(d.paragraphs) for d in plain_text.read_paragraphs(lines)] == documents


@pytest.mark.parametrize("close", "“«”»")
def test_sentences_end_in_the_quotation_marks_of_any_language(close):
    lines = []
    for number in range(9):
        lines += [f"Er kam {number} Mal.", f"„Ich gehe {number} Mal.{close}", "Sie nicht."]
        lines += [""] * (number % 3 == 2)
    assert recognise_text(lines) == "sentences"


VERSE = "The miller came home late\nAnd sat beside the fire\nThe clock struck two"


@pytest.mark.parametrize(
    "text",
    [
        f"{VERSE}\n\n{VERSE}\n\n{VERSE}",
        f"{LETTER}\n\n{LETTER}",
        f"{CHINESE_PRINT}\n\n{CHINESE_PRINT}",
        "\n\n".join([LETTER.replace("\n", " ")] * 3),
        "\n\n".join([LETTER, "- one\n- two", "if it rains:\ngo home", PRINT, LETTER]),
        "\n\n".join([LETTER.replace("\n", " "), "- one\n- two", "A last paragraph."]),
    ],
)
def test_verse_wrapped_prose_and_single_paragraphs_are_one_document(text):
    assert recognise_text(text.split("\n")) == "prose"


WIDE = "He came home late and sat by the fire. " * 7 + "Late."


@pytest.mark.parametrize(
    ("text", "paragraphs", "lines"),
    [
        (" He\tcame \n  late.\n\u00a0\n\nWhy? ", ["He came late.", "Why?"], 3),
        (
            "東京は\n日本の、\n首都である。\n\nภาษา\nไทย\n",
            ["東京は日本の、首都である。", "ภาษาไทย"],
            5,
        ),
        ("東京\nTokyo\n東京", ["東京 Tokyo 東京"], 3),
        (f"{WIDE}\nWhy?\n{WIDE}", [WIDE, "Why?", WIDE], 3),
    ],
    ids=["single spaces", "scripts without spaces", "beside others", "wide lines"],
)
def test_lines_become_paragraphs(text, paragraphs, lines):
    assert split_paragraphs(text) == (paragraphs, lines)


def test_a_very_long_paragraph_is_divided_at_spaces():
    paragraphs, _ = split_paragraphs("he came " * 400_000)
    assert " ".join(paragraphs) == ("he came " * 400_000).strip()
    assert max(map(len, paragraphs)) <= plain_text.MAX_PARAGRAPH_CHARACTERS


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_very_long_file_is_divided_in_the_same_places_however_it_is_read(size):
    text = b"One one.\r\n\r\nTwo two.\n\nThree\nthree. Four four four four"
    blocks = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(plain_text.divide_bytes(blocks, limit=14)) == [
        *(b"One one.\r\n\r\n", b"Two two.\n\n", b"Three\n", b"three. Four ", b"four four four")
    ]


def test_documents_without_end_are_divided(monkeypatch):
    monkeypatch.setattr(plain_text, "MAX_DOCUMENT_BYTES", 10)
    documents = list(read_sentences(["He came."] * 5))
    assert [len(document.paragraphs) for document in documents] == [2, 2, 1]


def test_blank_lines_in_a_row_end_one_document_and_alone_have_no_text():
    assert list(read_sentences(["", "a.", "", "", "b."])) == [
        Document(("a.",), is_segmented=True),
        Document(("b.",), is_segmented=True),
    ]
    assert list(read_sentences(["", ""])) == []
    assert list(plain_text.read_prose([b"\n \n* * *\n"])) == [NO_TEXT]
