import functools
import sys
import unicodedata

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from pipeline.vocabulary import normalization
from pipeline.vocabulary.normalization import composed_sequences, normalization_of_text, rules_tsv

LINES = [
    "  The Quick\tBrown\u00a0Fox\u2003jumps \u2028 over\r\nthe lazy dog. ",
    "``Double back-quotes'' and ''apostrophes'', but 'single' and ``` three.",
    "Élève naïf à l'œuvre : ça coûte 3 €, £5 – “déjà vu” …",
    "Größe, Straße, STRASSE; İstanbul'da ılık IŞIK",
    "Tiếng Việt có dấu thanh: ế Ộ ữ",
    "Ἐν ἀρχῇ ἦν ὁ λόγος· η Ελλάδα",
    "Ёлка и йод, Київ, ОБЪЁМ",
    "مُحَمَّد رسول الله، لا ﷺ ١٢٣",
    "שָׁלוֹם עֲלֵיכֶם",
    "हिन्दी में क़लम और फ़र्क़",
    "বাংলা কো কৌ ড়",
    "ภาษาไทย น้ำ เก่า",
    "가각갂 한국어 텍스트",
    "ガギグ ぱぴぷ 日本語　全角ＡＢＣ１２３ ﾊﾝｶｸ",
    "ﬁne ﬂow, Ⅻ, ½, x², ℃, №, ﬃ, ™, 𝐀𝒷ℂ",
    "naïve zero\u200bwidth \ufeffmarks \u200e\u200f here, soft\u00adhyphen",
    "emoji 👩‍🚀 and 🇱🇻 flags",
]
VOICED_HALF_WIDTH = "ｶﾞｷﾞ ﾊﾟ"
LETTERS = sorted({c for line in [*LINES, VOICED_HALF_WIDTH] for c in line} - {"\u00a0"})
ASSIGNED = [
    chr(code)
    for code in range(1, sys.maxunicode + 1)
    if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
]
# nmt_nfkc keeps the C1 controls, which no text means; here all controls are dropped.
C1 = {chr(code) for code in range(0x80, 0xA0)} - {"\x85"}


def preprocess_text(text):
    """ALBERT's `preprocess_text`, with the quotes of Hugging Face's tokenizer."""
    text = " ".join(text.strip().split())
    text = text.replace("``", '"').replace("''", '"')
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c))
    return text.lower()


@functools.cache
def albert_rules(*, cased=False, keep_accents=False):
    """The rules of ALBERT's own normalization, which take a second to make."""
    return rules_tsv(normalization.albert_normalization(cased=cased, keep_accents=keep_accents))


@pytest.fixture(scope="module")
def published():
    """What ALBERT's model sees of a text: `preprocess_text`, then its nmt_nfkc."""
    nmt_nfkc = sentencepiece.SentencePieceNormalizer(
        rule_name="nmt_nfkc",
        add_dummy_prefix=True,
        escape_whitespaces=True,
        remove_extra_whitespaces=True,
    )
    return lambda text: nmt_nfkc.Normalize(preprocess_text(text))


def normalizer_of(rules, folder, **settings):
    """SentencePiece with these rules, and nothing around a text."""
    path = folder / "rules.tsv"
    path.write_text(rules)
    settings = {"add_dummy_prefix": False, "escape_whitespaces": False, **settings}
    return sentencepiece.SentencePieceNormalizer(rule_tsv=str(path), **settings).Normalize


@pytest.fixture(scope="module")
def normalizer(tmp_path_factory):
    """A normalizer with other rules than the default ones."""

    def make(**kept):
        folder = tmp_path_factory.mktemp("rules")
        return normalizer_of(albert_rules(**kept), folder, remove_extra_whitespaces=True)

    return make


@pytest.fixture(scope="module")
def accented(normalizer):
    return normalizer(cased=False, keep_accents=True)


@pytest.mark.parametrize("line", [*LINES, VOICED_HALF_WIDTH])
def test_a_trained_model_normalizes_a_line_as_published(line, tokenizer, published):
    assert tokenizer.normalize(line) == published(line)


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_is_decomposed_or_normalized_before_becomes_the_same(line, tokenizer):
    once = tokenizer.normalize(line)
    assert tokenizer.normalize(unicodedata.normalize("NFD", line)) == once
    assert tokenizer.normalize(once) == once


def test_a_trained_model_normalizes_every_character_as_published(tokenizer, published):
    texts = (f"a{character}b" for character in ASSIGNED if character not in C1)
    assert [text for text in texts if tokenizer.normalize(text) != published(text)] == []


@pytest.mark.parametrize("letters", [LETTERS, "'`\" a"], ids=["any text", "quotes in any number"])
@given(data=st.data())
def test_a_trained_model_normalizes_any_text_as_published(tokenizer, published, letters, data):
    text = data.draw(st.text(st.sampled_from(letters), max_size=30))
    assert tokenizer.normalize(text) == published(text)


def test_a_capital_sigma_is_the_same_letter_wherever_it_stands(tokenizer):
    # Python's lower() would write ς at the end; rules do not see the end of a word.
    assert tokenizer.normalize("ΟΔΟΣ") == "▁οδοσ"


@pytest.mark.parametrize("line", LINES)
def test_accented_rules_give_the_lower_case_of_nfkc_composed_before_or_not(line, accented):
    words = line.replace("``", '"').replace("''", '"')
    for mark in "\u200b\u200e\u200f\ufeff":
        words = words.replace(mark, " ")
    words = unicodedata.normalize("NFKC", " ".join(words.split()))
    lower = unicodedata.normalize("NFKC", words.lower())
    assert accented(line) == accented(unicodedata.normalize("NFD", line)) == lower


@pytest.mark.xfail(strict=True, reason="no rule joins a half-width letter and mark")
def test_accented_rules_compose_voiced_half_width_kana(accented):
    assert accented(VOICED_HALF_WIDTH) == "ガギ パ"


@pytest.mark.parametrize(
    ("cased", "keep_accents", "text", "expected"),
    [
        (True, False, "Élève  ÜBER ﬁ Å", "Eleve UBER fi A"),
        (False, True, "Élève  ÜBER ﬁ Å й カ ガ", "élève über fi å й カ ガ"),
        # What is composed, and nothing else.
        (True, True, "E\u0301lève Größe Й", "Élève Größe Й"),
    ],
)
def test_case_and_marks_are_kept_or_go_as_asked(normalizer, cased, keep_accents, text, expected):
    assert normalizer(cased=cased, keep_accents=keep_accents)(text) == expected


@pytest.mark.parametrize("keep_accents", [True, False])
def test_every_source_has_one_rule_which_changes_it(keep_accents):
    lines = albert_rules(keep_accents=keep_accents).splitlines()
    rules = [line.split("\t") for line in lines]
    assert len({source for source, _ in rules}) == len(rules)
    assert [source for source, target in rules if source == target] == []


def test_an_accented_letter_can_be_written_with_one_or_more_marks():
    assert composed_sequences("ế") == {"e\u0302\u0301", "ê\u0301"}
    assert composed_sequences("각") == {"\u1100\u1161\u11a8", "가\u11a8"}
    assert composed_sequences("e") == set()


def made_for(text, *, keep_accents=True, cased=False, language=""):
    """The normalization of a vocabulary of this text, applied to it."""
    made = normalization_of_text([text], cased=cased, keep_accents=keep_accents, language=language)
    return "".join(map(made, text))


@pytest.mark.parametrize(
    ("text", "kept", "dropped"),
    [
        ("می‌خوانم", "می‌خوانم", "میخوانم"),
        ("کتاب‌ها", "کتاب‌ها", "کتابها"),
        ("ఫోన్‌లో", "ఫోన్‌లో", "ఫోనలో"),
        ("ක්‍රියා", "ක්‍රියා", "කරියා"),
        # Directions, soft hyphens, joiners of words, selectors and fillers are no text.
        ("‫שלום‬ ⁧שלום⁩", "שלום שלום", "שלום שלום"),
        ("שלום‏.", "שלום.", "שלום."),
        ("Donau\xaddampf", "donaudampf", "donaudampf"),
        ("word\u2060joiner", "wordjoiner", "wordjoiner"),
        ("no\ufeffbreak", "nobreak", "nobreak"),
        ("❤\ufe0f", "❤", "❤"),
        # A space of no width stands between words.
        ("ខ្ញុំ\u200bទៅ\xad", "ខ្ញុំ ទៅ", "ខញុំ ទៅ"),
    ],
)
def test_format_characters_are_no_spaces(text, kept, dropped):
    assert made_for(text) == kept
    assert made_for(text, keep_accents=False) == dropped


@pytest.mark.parametrize(
    ("language", "text", "lower"),
    [
        ("", "İZMİR", "izmir"),
        ("tr", "İZMİR IRMAĞI DEĞİL", "izmir ırmağı değil"),
        ("az", "BAKI ŞƏHƏRİ", "bakı şəhəri"),
        ("crh", "QIRIM", "qırım"),
        ("lt", "ÌÍĨ", "i̇̀i̇́i̇̃"),
        ("de", "IGEL", "igel"),
    ],
)
def test_case_is_that_of_the_language(language, text, lower):
    assert made_for(text, language=language) == lower
    # A soft hyphen is dropped whatever becomes of case.
    assert made_for(f"{text}\xad", language=language, cased=True) == text


@pytest.mark.parametrize(
    ("language", "of", "text", "expected"),
    [
        ("tr", "İZMİR", "I\u0307ZMI\u0307R IRMAK Î I\u0302", "izmir ırmak î î"),
        (
            *("ar", "\u0625\u0646\ufc60 \u0627\u0644\u0648\u0644\ufe76\u062f"),
            "\u0625\u0646\ufc60 \u0648\u0644\ufe76\u062f",
            "\u0625\u0646\u064e\u0651 \u0648\u0644\u064e\u062f",
        ),
    ],
    ids=["case with a dot written apart", "Arabic marks as they are printed alone"],
)
def test_a_vocabulary_of_some_text_normalizes(tmp_path, language, of, text, expected):
    rules = normalization_of_text([of], cased=False, keep_accents=True, language=language)
    assert normalizer_of(rules_tsv(rules), tmp_path)(text) == expected


@pytest.mark.parametrize("keep_accents", [True, False])
def test_text_without_such_characters_has_the_rules_of_albert(keep_accents):
    text = ["He came. " * 4000, "one \u200e, İ"]
    made = normalization_of_text(text, cased=False, keep_accents=keep_accents, language="en")
    assert rules_tsv(made) == albert_rules(keep_accents=keep_accents)


CHANGED = {
    "Vietnamese": ("Hà Nội là thủ đô của nước Việt Nam và là một trong hai đô thị.", 30.4),
    "Hindi": ("यह एक छोटा वाक्य है।", 10.0),
    "Russian": ("Привет, мир; ещё один день.", 5.0),
    "Ukrainian": ("Її подруга живе в Україні.", 14.3),
    "Japanese": ("今日は天気です。", 14.3),
    "Slovak": ("Bratislava je hlavné mesto Slovenska a leží na brehu Dunaja.", 6.0),
    "French": ("Le chat a été vu hier soir dans le jardin du voisin.", 5.0),
    "English": ("The ﬁlm of the Ⅳth night.", 0.0),
    # Marks that no letter is composed with.
    "Yoruba": ("Ọ̀rọ̀ Yorùbá ni mo ń sọ̀.", 37.5),
}


@pytest.mark.parametrize(("text", "percent"), CHANGED.values(), ids=CHANGED)
def test_the_share_of_letters_that_become_others_without_their_marks(text, percent):
    for form in ("NFC", "NFD"):
        share = normalization.changed_letters([unicodedata.normalize(form, text)])
        assert round(100 * share, 1) == percent
