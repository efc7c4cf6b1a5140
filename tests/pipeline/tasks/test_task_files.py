import bz2
import gzip
import re

import pytest

from pipeline.tasks.named_tasks import NAMED_TASKS, task_called
from pipeline.tasks.task_files import find_task_files, read_task_file
from schemas.errors import AlbertError, SettingError
from tests.pipeline.tasks.task_file import read
from tests.refusals import refusal

SQUAD, SQUAD2 = (f"train-v{n}.json dev-v{n}.json" for n in ("1.1", "2.0"))
SHARDS = ("train-00000-of-00001.parquet", "validation-00000-of-00001.parquet")
# Folders by the task that is in them, as tasks are distributed or people name files: the files
# to train on, to choose by, of the test, those of no part, and what is not seen.
FOLDERS = {
    "mrpc": ("train.tsv", "dev.tsv", "", "msr_paraphrase_train.txt dev_ids.tsv"),
    "mnli": (
        *("train.tsv", "dev_matched.tsv dev_mismatched.tsv"),
        *("test_matched.tsv test_mismatched.tsv", "", "README.txt"),
    ),
    "squad": (*SQUAD.split(), "", SQUAD2),
    "squad2": (*SQUAD2.split(), "", SQUAD),
    "c3": ("data/c3-d-train.json data/c3-m-train.json", "data/c3-d-dev.json", "", ""),
    "cmrc": ("cmrc2018_train.json", "cmrc2018_dev.json", "", "cmrc2018_trial.json"),
    "wnut17": ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated", ""),
    "tnews": ("train.json", "dev.json", "test.json", "labels.json"),
    "classify, val": ("train.csv", "val.csv", "test.csv", ""),
    "classify, folders": ("train/data.csv", "validation/data.csv", "test/data.csv", ""),
    "classify, both in one": ("train.tsv", "devel.tsv", "test.tsv", "train_dev.tsv"),
    "classify, shards": (*SHARDS, "", ""),
    "classify, values and capitals": ("Train.CSV", "VAL.csv", "", "values.csv"),
    "classify, names before folders": ("train/a.txt", "train/dev.txt", "", ""),
    "classify, as the library datasets saves them": (
        *("train/data-0.arrow", "", "test/data-0.arrow"),
        *("train/cache-1.arrow train/dataset_info.json train/state.json", "dataset_dict.json"),
    ),
    "classify, CoNLL-2003": ("eng.train", "eng.testa", "eng.testb", ""),
    "classify, hidden copies": (
        *("train.csv", "", "", ""),
        "._train.csv .ipynb_checkpoints/train-checkpoint.csv __MACOSX/train.csv",
    ),
    "classify, another ending": ("train.csv", "", "", "dev.xlsx", "notes.xlsx"),
    "classify, words that others contain": (
        "en_ud-train.conllu trainSet.csv train_data.csv wnut17train.txt",
        "dev2.csv devset.csv eng.testa eval_files.csv validation-00.csv",
        "eng.testb medieval_test.tsv test2017.csv testing.csv",
        "constraints.json developers.csv evaluator.csv latest.tsv testimonials.csv trainees.csv "
        "trainer_state.json values.csv",
    ),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_files_of_a_task_are_found_by_their_names(tmp_path, kind):
    for file in " ".join(FOLDERS[kind]).split():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("text")
    found = find_task_files(str(tmp_path), task_called(kind.partition(",")[0]))
    parts = [[f"{tmp_path}/{file}" for file in part.split()] for part in FOLDERS[kind]]
    assert [*found] == parts[:4]


def test_lines_of_a_text_that_have_a_comma_each_are_no_table(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("Berlin, Germany\nParis, France\n")
    found = read_task_file(str(path), task_called("embed"), is_labelled=False)
    assert [example.text for example in found.examples] == ["Berlin, Germany", "Paris, France"]


def test_a_folder_without_files_of_the_task_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("text")
    assert refusal(find_task_files, str(tmp_path), task_called("rte"), error=SettingError) == (
        f"{tmp_path} has no files of rte whose names, or folders, say train, dev or test; it "
        "has notes.txt; name the files with --train, --eval and --test."
    )
    with pytest.raises(SettingError, match="is not a folder"):
        find_task_files(str(tmp_path / "none"), task_called("rte"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_packed_files_are_read_and_damaged_ones_refused(tmp_path, pack):
    packed = pack(b"text\tlabel\nGood.\t1\n")
    assert read(tmp_path, packed).examples[0].text == "Good."
    with pytest.raises(AlbertError, match="is damaged; copy it again"):
        read(tmp_path, packed[:-9])


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_is_read_if_its_first_bytes_say_so_and_refused_if_not(tmp_path, order):
    text = "text\tlabel\nGood, \u0107.\t1\n"
    (example,) = read(tmp_path, f"\ufeff{text}".encode(f"utf-16-{order}")).examples
    assert (example.text, example.label) == ("Good, \u0107.", "1")
    with pytest.raises(AlbertError, match="is UTF-16; convert it to UTF-8"):
        read(tmp_path, text.encode(f"utf-16-{order}"))
    with pytest.raises(AlbertError, match="is UTF-16; convert it to UTF-8"):
        # Cut within a character.
        read(tmp_path, f"\ufeff{text}".encode(f"utf-16-{order}")[:-1])


@pytest.mark.parametrize(("encoding", "said"), [("utf-32", "UTF-32"), ("cp1250", "WINDOWS-1250")])
def test_encodings_that_would_be_read_wrongly_are_refused(tmp_path, encoding, said):
    text = "text\tlabel\nPříliš žluťoučký kůň úpěl, řeka teče.\tx\nBylo pozdě.\ty\n"
    with pytest.raises(AlbertError, match=said) as refused:
        read(tmp_path, text.encode(encoding))
    assert "--language" not in str(refused.value)


def test_a_table_in_several_languages_is_refused_with_how_to_convert_it(tmp_path):
    text = "text\tlabel\nGröße, für später, schön.\tx\nÉté, garçon, là, mañana.\ty\n"
    with pytest.raises(AlbertError, match="from WINDOWS-1252 if it has several lang"):
        read(tmp_path, (text * 2).encode("cp1252"))


def test_the_labels_of_the_named_tasks_are_in_their_published_order():
    # google-research/albert, classifier_utils.py, get_labels of each processor.
    labels = {name: task.spec.labels for name, task in NAMED_TASKS.items()}
    assert labels["mnli"] == ("contradiction", "entailment", "neutral")
    assert labels["qnli"] == labels["rte"] == ("entailment", "not_entailment")
    zero_one = ("cola", "sst-2", "mrpc", "qqp", "wnli", "afqmc", "chnsenticorp")
    assert {labels[name] for name in zero_one} == {("0", "1")}
    assert len(labels["tnews"]) == 15


def test_a_task_is_called_by_its_name_or_its_kind():
    assert task_called("STS_B") is NAMED_TASKS["sts-b"].spec
    assert task_called("squad2").has_unanswerable
    assert (task_called("tag").name, task_called("tag").max_seq_length) == ("tag", 128)
    assert re.match(
        r"--task 'sentiment' is neither a kind \(classify, .*\) nor a task that is "
        r"known by name \(cola, ",
        refusal(task_called, "sentiment", error=SettingError),
    )
