"""Files on a web server, which can only be read."""

import http.server
import threading
from functools import partial

import pytest

from pipeline.reading.inputs import find_inputs
from pipeline.storage import files, remote
from tests.refusals import refusal

TEXT = b"It was late when the miller came home.\n\nNo one knew why he had gone.\n"
LARGE = bytes(range(256)) * 8000


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, in parts too if `gives_parts`, with sizes if `has_sizes`."""

    gives_parts = has_sizes = True

    def do_GET(self):
        given = self.headers.get("Range")
        if not (given and self.gives_parts):
            super().do_GET()
            return
        start, _, end = given.removeprefix("bytes=").partition("-")
        with open(self.translate_path(self.path), "rb") as file:
            data = file.read()[int(start) : int(end) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_header(self, keyword, value):
        if self.has_sizes or keyword != "Content-Length":
            super().send_header(keyword, value)

    def log_message(self, *_):
        pass


@pytest.fixture
def site(tmp_path):
    """The address of a server of a folder with texts, and the class that serves."""
    pytest.importorskip("aiohttp")
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki/a.txt").write_bytes(TEXT)
    (tmp_path / "wiki/b.txt").write_bytes(TEXT.upper())
    (tmp_path / "wiki/large").write_bytes(LARGE)
    handler = type("Handler", (Server,), {})
    with http.server.ThreadingHTTPServer(
        ("localhost", 0), partial(handler, directory=tmp_path)
    ) as server:
        threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://localhost:{server.server_port}", handler
        server.shutdown()
    remote._connected.cache_clear()
    files._entries.clear()


def test_files_of_a_web_server_are_found_and_read(site):
    address, _ = site
    assert files.find_files(f"{address}/wiki/*.txt") == [f"{address}/wiki/{n}.txt" for n in "ab"]
    (found,) = find_inputs({"text": (f"{address}/wiki/a.txt",)})
    assert (found.bytes, found.format) == (len(TEXT), "prose")
    assert files.read_whole(f"{address}/wiki/b.txt") == TEXT.upper()
    assert not files.exists(f"{address}/wiki/none.txt")


@pytest.mark.parametrize("gives_parts", [True, False])
def test_a_file_is_read_from_any_place_whether_or_not_the_server_gives_parts(site, gives_parts):
    address, handler = site
    handler.gives_parts = gives_parts
    with files.open_binary(f"{address}/wiki/large") as file:
        assert file.read(5) == LARGE[:5]
        file.seek(1_500_000)
        assert file.read(10) == LARGE[1_500_000:1_500_010]


def test_a_server_that_does_not_say_how_large_a_file_is_is_refused(site):
    address, handler = site
    handler.has_sizes = False
    path = f"{address}/wiki/a.txt"
    assert refusal(files.open_binary, path) == (
        f"{path} cannot be read: its server does not say how large it is; download it."
    )
