"""Secrets of addresses reach neither the terminal nor a file."""

import json

import pytest

from schemas.secrets import without_secrets
from tests.commands import contents, make_data, refused

SECRET = "xyzzy"


@pytest.mark.parametrize(
    "address",
    [
        "https://ada:xyzzy@host/text/",
        "https://xyzzy@host/a.txt",
        "https://host/a.txt?X-Amz-Credential=xyzzy&X-Amz-Signature=xyzzy",
        "https://host/a.txt?xyzzy",
        "https://host/a.txt#access_token=xyzzy",
        "https://account.blob.core.windows.net/a?sv=2&sig=xyz%2Fxyzzy",
        "s3://key:xyzzy@bucket/text/",
        "s3:/key:xyzzy@bucket/text",
        "https:/xyzzy@host/a.txt?sig=xyzzy",
        "s3://key:a/xyzzy@bucket/text/",
        "hdfs://ada:p@xyzzy@node:8020/text",
        "--azure_connection_string=AccountName=a;AccountKey=xyzzy==",
        "--s3_secret_access_key=xyzzy",
        'https://ada:a "b" xyzzy@host/a.txt',
        "s3://key:<xyzzy>|[a]@bucket/text/",
        "ftp://ada:it's xyzzy:80@host/a.txt",
        'password="a xyzzy"',
        "token='a; xyzzy'",
    ],
)
def test_no_secret_is_shown(address):
    said = without_secrets(f"--text: '{address}' (or {address}) does not exist.")
    assert SECRET not in said
    assert said.endswith(" does not exist.")


@pytest.mark.parametrize(
    "text",
    [
        "gs://bucket/wiki/*/part-?.bz2 does not exist.",
        "abfs://texts@account.dfs.core.windows.net/a.txt does not exist.",
        "hf://datasets/ada/novels@main/a.parquet does not exist.",
        "hdfs://node:8020/text@2026/a.txt does not exist.",
        "/texts/c:/ada/a.txt does not exist; write to ada@host.",
        "https://node:8020 does not answer; write to ada@host.",
        "s3://bucket: nothing is there; write to ada@host.",
    ],
)
def test_what_is_no_secret_is_shown(text):
    assert without_secrets(text) == text


def test_no_secret_is_said_or_kept(memory, small, tmp_path):
    text = "\n\n".join(p.read_text("utf-8") for p in (small / "text").iterdir())
    memory["/ada:xyzzy@shelf/text.txt?token=xyzzy&part=1"] = text.encode()
    address = "memory://ada:xyzzy@shelf/text.txt?token=xyzzy&part=1"
    data = tmp_path / "data"
    said = make_data(small, "--dupe-factor", 1, text=address, output=data)
    again = refused("vocab", "--text", address + "x", "--output", tmp_path / "v")
    assert "memory://***@shelf/text.txt?token=***&part=*** does not exist." in again
    assert SECRET not in said + again
    for name in contents(tmp_path):
        assert SECRET.encode() not in (tmp_path / name).read_bytes(), name
    config = json.loads((data / "config.json").read_bytes())
    assert config["text"] == ["memory://***@shelf/text.txt?token=***&part=***"]
