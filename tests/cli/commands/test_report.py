"""`albert report` on data sets and runs, and on what is neither."""

import shutil
import subprocess

import pytest

from schemas.readable import prefixed
from tests.commands import run
from tests.runs import write_records

BROWSERS = (
    *("chromium", "chromium-browser", "chromium-headless-shell"),
    *("google-chrome", "chrome-headless-shell"),
)


@pytest.fixture(scope="module")
def report(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    runs = [write_records(folder / name) for name in ("one", "two")]
    output = folder / "report.html"
    *_, last = run("report", small / "data", *runs, "--output", output).splitlines()
    assert last == f"{output}: {prefixed(output.stat().st_size, 'B')}."
    return output


def test_data_sets_and_runs_stand_on_one_small_page_of_the_same_bytes_each_time(report, small):
    text = report.read_text(encoding="utf-8")
    assert "<title>ALBERT: data, 2 runs</title>" in text
    assert text.count("<section") == 2
    assert text.count('<ol class="examples">') == 1
    assert report.stat().st_size < 2_000_000
    again = report.with_name("again.html")
    paths = (small / "data", report.parent / "one", report.parent / "two")
    run("report", *paths, "--output", again)
    assert again.read_bytes() == report.read_bytes()


def test_the_same_folder_is_shown_once(tmp_path, monkeypatch):
    write_records(tmp_path / "one")
    monkeypatch.chdir(tmp_path)
    run("report", "one", "one/", tmp_path / "one")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>ALBERT: one</title>" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1300], ids=["phone", "desktop"])
def test_a_browser_without_network_draws_the_page(report, tmp_path, width):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    from PIL import Image

    picture = tmp_path / "page.png"
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}"),
            *(f"--window-size={width},2400", report.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    # What the page itself complains of, such as something refused by its policy.
    assert "CONSOLE" not in done.stderr
    with Image.open(picture) as image:
        pixels = image.convert("RGB")
        assert pixels.size == (width, 2400)
        counts = dict((c, n) for n, c in pixels.getcolors(1 << 24))
    # The page, a card, and bars in the first colour of the style sheet.
    assert all(counts[c] > 1000 for c in ((244, 245, 247), (255, 255, 255)))
    assert counts[0x25, 0x63, 0xC9] > 1000
