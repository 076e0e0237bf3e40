"""What JSON takes in memory, and statistics that are none."""

from __future__ import annotations

import json
import tracemalloc
import zipfile

import pytest

from rfod._io.archives import json_memory
from rfod._io.source_stats import MEMBER, read_stats

SIZE = 200_000


def repeated(part: str) -> bytes:
    return f"[{part * (SIZE // len(part))}0]".encode()


COSTLY = {
    "lists": repeated("[],"),
    "objects": repeated("{},"),
    "fields": repeated('{"":0},'),
    "objects of objects": repeated('{"":{}},'),
    "lists of lists": repeated("[[]],"),
    "deep lists": repeated("[" * 200 + "]" * 200 + ","),
    "deep objects": repeated('{"":' * 200 + "0" + "}" * 200 + ","),
    "integers": repeated("257,"),
    "long integers": repeated("1" * 40 + ","),
    "floats": repeated("1e9,"),
    "texts": repeated('"ab",'),
    "accents": repeated('"aé",'),
    "wide letters": repeated('"😀a",'),
    "one wide letter": f'["😀{"a" * SIZE}"]'.encode(),
    "escapes": repeated('"\\u1234",'),
    "keys": ("{" + ",".join(f'"{number:x}":0' for number in range(SIZE // 9)) + "}").encode(),
    "keys and a wide letter": ("{" + ",".join(f'"{number:x}":[]' for number in range(SIZE // 9)) + ',"😀":0}').encode(),
}


@pytest.mark.parametrize("name", COSTLY)
def test_parsing_takes_no_more_memory_than_said(name):
    data = COSTLY[name]
    json.loads(data)
    tracemalloc.start()
    json.loads(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= json_memory(data) <= 60 * peak


@pytest.mark.parametrize("text", ["[{,:" * 1000, '\\"[' * 1000, "\\\\" * 1000, 'a"' * 500, "[\\", "é[😀"])
def test_brackets_within_texts_take_no_more_than_other_letters(text):
    data = json.dumps([text, text]).encode()
    assert json_memory(data) == 2 * 96 + 3 * len(data)  # of "[" and ","


def test_memory_of_what_is_no_json():
    assert json_memory(b"") == 0
    assert json_memory(b'"' + b'\\"' * 1000) < 10_000


@pytest.mark.parametrize(
    "stats",
    [
        "[]",
        "{}",
        "nonsense",
        '{"n_rows": 0, "columns": {}}',
        '{"n_rows": "9", "columns": {}}',
        '{"n_rows": 9, "columns": []}',
        '{"n_rows": 9, "columns": {"a": []}}',
        '{"n_rows": 9, "columns": {"a": {"n_missing": "1"}}}',
        '{"n_rows": 9, "columns": {"a": {"n_missing": 1, "quantiles": 3}}}',
        "[" * 100_000,
    ],
)
def test_statistics_that_are_none(tmp_path, stats):
    with zipfile.ZipFile(tmp_path / "m.rfod", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, stats)
    assert read_stats(tmp_path / "m.rfod") is None


def test_statistics_of_no_model(tmp_path):
    assert read_stats(tmp_path / "none.rfod") is None
    (tmp_path / "m.rfod").write_text("nothing")
    assert read_stats(tmp_path / "m.rfod") is None
    with zipfile.ZipFile(tmp_path / "m.rfod", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(MEMBER, '{"n_rows": 9, "columns": {}}')
    assert read_stats(tmp_path / "m.rfod") is None
