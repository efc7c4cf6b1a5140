import bz2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.documents import DAMAGED, ReadingCounts
from pipeline.reading.refusals import refuse_escaped, refuse_other_encoding
from pipeline.storage import lines
from schemas.errors import AlbertError


def lines_of(*blocks):
    return list(lines.read_lines(blocks))


def cut(text, size):
    return [text[i : i + size] for i in range(0, len(text), size)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        *(
            (end.join(["one", "", "two", "three"]) + end, ["one", "", "two", "three"])
            for end in ("\n", "\r\n", "\r", "\r\r\n")
        ),
        # White space is single, and none at the ends.
        (" one\t two\u00a0three \u2028four ", ["one two three four"]),
        # A byte order mark is no text.
        ("\ufeffone\n\ufefftwo", ["one", "two"]),
    ],
)
def test_lines_end_in_any_way_and_have_single_spaces(data, expected):
    assert lines_of(data.encode()) == expected


@given(st.text("aé \n\r\0"), st.integers(1, 9))
def test_blocks_may_be_cut_anywhere(text, size):
    data = text.encode()
    assert lines_of(*cut(data, size)) == lines_of(data)


@given(st.binary().map(lambda data: data.replace(b"\r", b"")))
def test_nothing_but_zero_bytes_is_lost(data):
    counts = ReadingCounts()
    text = lines.decode(data, counts=counts)
    assert counts.changed[lines.NUL_BYTES] == data.count(0)
    assert text.count("\n") == data.count(b"\n")


CUT = "Привет, мир".encode()[:-1]


@pytest.mark.parametrize(
    ("data", "text", "changed"),
    [
        # Only the line that is not UTF-8 is read as Windows-1252.
        (
            "naïve\n".encode() + "“naïve”\n".encode("cp1252") + b"plain\n",
            "naïve\n“naïve”\nplain\n",
            {lines.NOT_UTF8: 1},
        ),
        # Two bytes of it that could be UTF-8 are no reason to lose others.
        ("»Viel Spaß«\n".encode("cp1252"), "»Viel Spaß«\n", {lines.NOT_UTF8: 1}),
        ("Le café\n".encode("cp1252"), "Le café\n", {lines.NOT_UTF8: 1}),
        # A line of UTF-8 loses its bad bytes alone.
        (CUT + b"\nplain\n", "Привет, ми\nplain\n", {lines.BAD_BYTES: 1}),
    ],
)
def test_a_line_that_is_not_utf8_costs_no_other(data, text, changed):
    counts = ReadingCounts()
    assert lines.decode(data, counts=counts) == text
    assert counts.changed == changed


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *(("Привет, мир. Как дела?", "cp1251"), ("Привет, мир. Как дела?", "koi8-r")),
        *(("Γειά σου, κόσμε.", "cp1253"), ("他来了。她走了。", "gb18030")),
        *(("彼は来た。", "shift-jis"), ("彼は来た。", "euc-jp")),
        *(("그는 왔다.", "euc-kr"), ("สวัสดีชาวโลก", "tis-620")),
    ],
)
def test_encodings_of_other_scripts_are_refused(text, encoding):
    head = b"plain\n" + text.encode(encoding) + b"\n"
    with pytest.raises(AlbertError, match="in another encoding than UTF-8"):
        refuse_other_encoding(head, path="a.txt")
    # One such line among many of UTF-8 is no reason.
    refuse_other_encoding(head + 2 * f"{text}\n".encode(), path="a.txt")


@pytest.mark.parametrize(
    "data",
    [
        "Žluťoučký kůň úpěl ďábelské ódy.".encode("cp1250"),
        "Où est l'été, là-bas ?".encode("cp1252"),
        "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.".encode("latin-1"),
        "Привет, мир.".encode(),
        # Cut inside a character.
        *(CUT + b"!", "他来了".encode()[:-1]),
    ],
    ids=range(6),
)
def test_western_text_and_utf8_are_not(data):
    refuse_other_encoding(data, path="a.txt")


@given(st.lists(st.text("a é", max_size=30)).map("\n".join), st.integers(1, 40), st.integers(4, 12))
def test_long_lines_are_cut_in_the_same_places_however_blocks_fall(text, size, limit):
    data = text.encode()
    pieces = list(lines.line_blocks(cut(data, size), limit=limit))
    assert b"".join(pieces) == data
    whole = list(lines.line_blocks([data], limit=limit))
    assert b"".join(p if p.endswith(b"\n") else p + b"|" for p in pieces) == b"".join(
        p if p.endswith(b"\n") else p + b"|" for p in whole
    )
    for line in b"|".join(pieces).replace(b"\n|", b"\n").split(b"\n"):
        assert all(len(part) <= limit for part in line.split(b"|"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_named_and_a_few_zero_bytes_are_none(encoding):
    with pytest.raises(AlbertError, match=r"^novel\.txt is UTF-16; .*iconv"):
        refuse_escaped("A novel, by one.".encode(encoding), path="novel.txt")
    refuse_escaped(b"A no\0vel, by \0one.", path="novel.txt")


LONG = b"x" * (2 * lines.LINE_PREFIX_BYTES)
line = st.sampled_from([b"D", b"Done", b"a", b"", b"D" + LONG, LONG, b"a\r", b"D\r"])
texts = st.lists(line).map(b"\n".join)


def starts(line):
    return line.startswith(b"D")


def starts_of(text):
    """Where the documents of a text begin, found in the plainest way."""
    return [0] + [i + 1 for i in range(len(text)) if text[i] == 10 and text[i + 1 : i + 2] == b"D"]


def read_parts(path, edges):
    pairs = zip(edges, [*edges[1:-1], None], strict=False)
    return [
        b"".join(lines.read_documents(str(path), starts, start=start, end=end))
        for start, end in pairs
    ]


def check_whole(parts, text):
    """Check that parts are all of a text, each beginning with a document."""
    assert b"".join(parts) == text
    places, position = set(starts_of(text)), 0
    for part in parts:
        assert not part or position in places
        position += len(part)


@given(texts, st.lists(st.floats(0, 1)))
def test_ranges_read_each_document_whole_and_once(tmp_path_factory, text, cuts):
    path = tmp_path_factory.mktemp("range") / "text"
    path.write_bytes(text)
    edges = [0, *sorted(int(cut * len(text)) for cut in cuts), len(text)]
    edges = sorted(set(edges)) if text else [0, 0]
    check_whole(read_parts(path, edges), text)


@given(st.lists(st.sampled_from(b"D a\n"), max_size=60).map(bytes), st.data())
def test_streams_may_cut_documents_anywhere(tmp_path_factory, text, data):
    """As pbzip2 does, which puts every 900 kB in a stream of its own."""
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=5)))
    edges = [0, *cuts, len(text)]
    streams = [bz2.compress(text[edges[i] : edges[i + 1]]) for i in range(len(edges) - 1)]
    path = tmp_path_factory.mktemp("range") / "text.bz2"
    path.write_bytes(b"".join(streams))
    size = path.stat().st_size
    ranges = sorted({0, size, *data.draw(st.sets(st.integers(0, size), max_size=5))})
    check_whole(read_parts(path, ranges), text)


@pytest.mark.parametrize("cut", range(16))
def test_a_document_belongs_to_the_range_with_the_line_feed_before_it(tmp_path, cut):
    path = tmp_path / "text"
    path.write_bytes(b"D one\nD two\n\nx\n")
    first, second = read_parts(path, [0, cut, 15]) if cut else (b"", path.read_bytes())
    assert first == (b"D one\nD two\n\nx\n" if cut > 5 else b"D one\n" if cut else b"")
    assert first + second == b"D one\nD two\n\nx\n"


def test_a_start_is_found_wherever_blocks_are_cut():
    text = b"a" * 5000 + b"\nb\nD" + b"c" * 5000
    for size in (1, 7, 4096, 20_000):
        assert lines.find_start(cut(text, size), starts) == 5003


def test_what_follows_completes_the_last_line():
    assert lines.find_start([b"a\nD"], lambda line: line == b"Done", following=[b"one\n"]) == 2
    assert lines.find_start([b"a\nD"], starts) == 2
    assert lines.find_start([b"a"], starts, following=[b"\nD"]) is None


def test_damage_is_counted_by_the_range_that_has_it(tmp_path):
    streams = [bytearray(bz2.compress(b"D %d\n" % i)) for i in range(10)]
    streams[6][15] ^= 255
    path = tmp_path / "text.bz2"
    path.write_bytes(b"".join(streams))
    counted = []
    for start, end in [(0, 200), (200, 300), (300, None)]:
        counts = ReadingCounts()
        list(lines.read_documents(str(path), starts, start=start, end=end, counts=counts))
        counted.append(counts.dropped[DAMAGED])
    assert sum(counted) == 1


def test_a_range_is_read_as_it_stands(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"0123456789")
    assert list(lines.read_blocks(str(path), start=3, end=6)) == [b"345"]
