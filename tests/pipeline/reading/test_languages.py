import pytest

from pipeline.reading.sentences import known_language, rules_of, unlike_language


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        # ISO 639-1, 639-2 in both forms, 639-3, in any case.
        *[(name, "de") for name in ("de", "DE", "deu", "ger", "German")],
        *[(name, "el") for name in ("ell", "gre", "el-GR", "Greek")],
        *[(name, "hy") for name in ("hye", "arm", "hyw")],
        # Region, script and variant, as BCP 47, POSIX and data sets write them.
        *[(name, "es") for name in ("es-MX", "spa", "es_ES.UTF-8", "spa_Latn", "es-419")],
        ("sr-Cyrl-RS", "en"),
        ("ca_ES@valencia", "ca"),
        ("de-CH-1901", "de"),
        # Known with their subtag only.
        ("nds-nl", "nl"),
        ("nds", "de"),
        # The usual form of a language of several, and its neighbours.
        *[(name, "ar") for name in ("arb", "arz", "ary_Arab")],
        ("nob", "da"),
        ("ces", "sk"),
        ("khk", "en"),
    ],
)
def test_any_name_of_a_language_leads_to_its_rules(name, rules):
    assert rules_of(name).segmenter == rules


@pytest.mark.parametrize(
    "codes", ["iw he", "in id", "tib bo", "cmn-Hans zh", "als_Latn sq", "als als", "pes fa"]
)
def test_old_and_narrow_codes_are_those_of_iso_639_1(codes):
    name, code = codes.split()
    assert known_language(name) == code


@pytest.mark.parametrize("name", ["", "und", "mul", "zxx", "n/a", "C", "englsh"])
def test_what_names_no_language_is_no_code(name):
    assert known_language(name) == ""


@pytest.mark.parametrize("language", ["vi", "vie", "khm", "xx", "yor"])
def test_a_language_without_rules_is_said(language):
    said = unlike_language("Anh.", language, is_default=False)
    assert said.startswith(f"document in {known_language(language)}, for which there")


@pytest.mark.parametrize(
    ("text", "unlike"),
    [
        ("Он читал PDF-файлы.", "mostly in Cyrillic letters"),
        ("Ποιος είναι ο George;", "mostly in Greek letters"),
        ("שלום לכולם.", "mostly in Hebrew letters"),
        ("วันนี้อากาศดี", "mostly in Thai letters"),
        ("今日は。", "mostly in Chinese letters"),
        ("ありがとうございます。", "mostly in Japanese letters"),
        (
            "In den alten Zeiten, wo das Wünschen noch geholfen hat, lebte ein König, "
            "dessen Töchter waren alle schön, aber die jüngste war so schön, dass die "
            "Sonne selber, die doch so vieles gesehen hat, sich verwunderte.",
            "that reads like de",
        ),
        (
            "Il était une fois une petite fille de village, la plus jolie qu'on eût su "
            "voir ; sa mère en était folle, et sa mère-grand plus folle encore.",
            "that reads like fr",
        ),
        (
            "En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha mucho "
            "tiempo que vivía un hidalgo de los de lanza en astillero, adarga antigua, "
            "rocín flaco y galgo corredor.",
            "that reads like es",
        ),
        (
            "Toen ik een kleine jongen was, woonden wij in een huis dat mijn vader met "
            "zijn eigen handen had gebouwd, en het was het mooiste van de straat.",
            "that reads like nl",
        ),
    ],
)
def test_what_seems_not_to_be_english_is_told_where_no_language_was_named(text, unlike):
    assert unlike_language(text, "en", is_default=True) == (
        f"document {unlike}, divided as English; give --language"
    )
    assert unlike_language(text, "ru", is_default=False) == ""
    assert "reads" not in unlike or unlike_language(text, "en", is_default=False) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Don Quijote de la Mancha is a novel by Miguel de Cervantes, and the first "
        "part of it was published in Madrid by Francisco de Robles.",
        "Whereof one cannot speak, thereof one must be silent: die Grenzen der Sprache "
        "are the limits of the world, and that is all that can be said of it here.",
        "Der Mann und das Kind und die Frau.",
        "7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29",
        *("Déjà vu: «Война» is a word.", "1914–1918", ""),
    ],
    ids=["names", "a quotation", "few words", "numbers", "a Russian word", "years", "nothing"],
)
def test_english_with_foreign_words_and_what_is_too_short_is_not_told(text):
    assert unlike_language(text, "en", is_default=True) == ""
