"""Storage in this process, which fsspec knows as memory://."""

from collections.abc import MutableMapping

import fsspec

STORAGE = fsspec.filesystem("memory")


class Contents(MutableMapping):
    """The bytes of all files by path."""

    def __getitem__(self, path):
        return STORAGE.store[path.removeprefix("memory:/")].getvalue()

    def __setitem__(self, path, data):
        STORAGE.pipe_file(path, data)

    def __delitem__(self, path):
        STORAGE.rm_file(path)

    def __iter__(self):
        return iter([f"memory:/{name}" for name in STORAGE.store])

    def __len__(self):
        return len(STORAGE.store)


CONTENTS = Contents()
