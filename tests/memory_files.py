"""A file system of Beam's that keeps its files in memory, as an object store would."""

import io

from apache_beam.io.filesystem import FileMetadata, FileSystem

CONTENTS = {
    "memory://shelf/a.txt": b"It was late when the miller\ncame home.\n",
    "memory://shelf/low/b.txt": b"No one knew.\n",
}


class NewFile(io.BytesIO):
    """A file that is there once it is closed."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def close(self):
        if not self.closed:
            CONTENTS[self._path] = self.getvalue()
        super().close()


class MemoryFiles(FileSystem):
    """Beam finds it by its scheme; `memory://full/` takes no more."""

    @classmethod
    def scheme(cls):
        return "memory"

    def join(self, base, *paths):
        return "/".join([base, *paths])

    def split(self, path):
        return tuple(path.rsplit("/", 1))

    def has_dirs(self):
        return False

    def _list(self, prefix):
        return [
            self.metadata(path) for path in sorted(CONTENTS) if path.startswith(prefix)
        ]

    def open(self, path, mime_type=None, compression_type=None):
        if path not in CONTENTS:
            raise OSError(f"{path} is gone")
        return io.BytesIO(CONTENTS[path])

    def exists(self, path):
        return path in CONTENTS

    def size(self, path):
        return len(CONTENTS[path])

    def metadata(self, path):
        return FileMetadata(path, len(CONTENTS[path]))

    def checksum(self, path):
        return f"crc-{len(CONTENTS[path])}"

    def create(self, path, mime_type=None, compression_type=None):
        if path.startswith("memory://full/"):
            raise OSError("no space left")
        return NewFile(path)

    def rename(self, sources, destinations):
        for source, destination in zip(sources, destinations, strict=True):
            CONTENTS[destination] = CONTENTS.pop(source)

    def delete(self, paths):
        for path in paths:
            CONTENTS.pop(path, None)

    def mkdirs(self, path):
        pass

    def _refuse(self, *_, **__):
        raise NotImplementedError

    copy = last_updated = _refuse
