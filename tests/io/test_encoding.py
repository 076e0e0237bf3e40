"""Bytes of every encoding, and bytes of none."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfod._io.interface import InputError, Notes, ReadOptions
from rfod._io.locations import open_source
from rfod._io.source import read_all
from rfod._io.text import Utf8Stream


def decoded(data: bytes, encoding: str | None = None, strict: bool = False) -> tuple[str, list[str]]:
    notes = Notes()
    stream = io.BufferedReader(Utf8Stream(io.BytesIO(data), "t.csv", encoding, notes, strict))
    return stream.read().decode(), notes.texts()


def table(*words: str) -> str:
    return "id,name\n" + "".join(f"{n},{word}\n" for n, word in enumerate(words * 20))


CZECH = table("Dvořák", "České Budějovice", "Řehoř", "Ústí nad Labem", "Žižka", "Děčín", "Plzeň", "jméno", "město")
RUSSIAN = table("Иванов", "Москва", "Петров", "Санкт-Петербург", "Новосибирск")
GERMAN = table("Königstraße", "groß", "Mühlweg", "Bäckergasse", "fünf", "Österreich")
FRENCH = table("Hélène", "Besançon", "François", "Orléans", "Noël", "Nîmes", "élève")
JAPANESE = table("田中太郎", "東京", "鈴木花子", "ポスト", "大阪")


@pytest.mark.parametrize(
    ("text", "encoding", "words"),
    [
        (CZECH, "cp1250", "cp1250"),
        (RUSSIAN, "cp1251", "cp1251"),
        (GERMAN, "latin-1", r"Windows-1252 \(Latin-1\)"),
        (FRENCH, "latin-1", r"Windows-1252 \(Latin-1\)"),
        (JAPANESE, "shift_jis", "cp932"),
        (table("名前", "田中"), "shift_jis", "cp932"),
        ("a,b\n1,café\n", "cp1252", "Windows-1252"),
        ("a,b\n" + "5 €,x\n" * 20, "cp1252", "Windows-1252"),
        ("t,unit\n" + "".join(f"{n},°C\n" for n in range(50)), "cp1252", "Windows-1252"),
        ("a,b\n" + "1,x\n" * 400_000 + "2,café\n", "cp1252", "Windows-1252"),
    ],
)
def test_guessed_encodings(text: str, encoding: str, words: str) -> None:
    found, notes = decoded(text.encode(encoding))
    assert found == text
    assert len(notes) == 1
    assert re.match(f"not UTF-8; read as {words}.*Hint: --encoding names another one", notes[0])
    assert decoded(text.encode(encoding), encoding) == (text, [])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_encodings_that_are_known(encoding: str) -> None:
    assert decoded(GERMAN.encode(encoding)) == (GERMAN, [])
    assert decoded(GERMAN.encode(encoding), strict=True) == (GERMAN, [])


def test_a_few_bytes_do_not_make_another_encoding() -> None:
    lines = [f"{n},Köln".encode() for n in range(100)]
    lines[15], lines[88] = b"15,K\xf6ln", b"88,K\xff\xfeln"
    text, notes = decoded(b"a,b\n" + b"\n".join(lines))
    assert text.splitlines()[16] == "15,K\ufffdln"
    assert text.splitlines()[89] == "88,K\ufffd\ufffdln"
    assert text.count("Köln") == 98
    assert notes == [
        "3 bytes that are no UTF-8 read as '\ufffd': line 17, 90. Hint: --encoding names another encoding."
    ]


def test_what_was_read_before_decides() -> None:
    late = "1,x\n" * 400_000
    text, notes = decoded(("é,b\n" + late).encode() + b"2,caf\xe9 \xe9 \xe9\n")
    assert text.endswith("2,caf\ufffd \ufffd \ufffd\n")
    assert notes[0].startswith("3 bytes that are no UTF-8 read as '\ufffd': line 400,002.")
    assert decoded("é,b\n".encode() + b"2,caf\xe9\n")[0] == "é,b\n2,caf\ufffd\n"


def test_named_encodings() -> None:
    text, notes = decoded(b"a,b\n1,\x81x\n", "cp1252")
    assert text == "a,b\n1,\ufffdx\n"
    assert notes[0].startswith("1 byte that is no CP1252 read as '\ufffd': line 2.")
    assert decoded("a\nü".encode("utf-16-le") + b"\x00\xd8", "utf-16-le")[0] == "a\nü\ufffd\ufffd"
    for name in ("klingon", "base64", "a\0b"):
        with pytest.raises(InputError, match="there is no encoding"):
            decoded(b"a", name)


@pytest.mark.parametrize(
    ("data", "encoding", "words"),
    [
        (b"a,b\n1,caf\xe9\n", None, "line 2: byte 0xe9 is no UTF-8 text"),
        ("é\nü\n".encode() + b"\xff", None, "line 3: byte 0xff is no UTF-8 text"),
        (b"a\rb\r\x81", "cp1252", "line 3: byte 0x81 is no CP1252 text"),
    ],
)
def test_strict(data: bytes, encoding: str | None, words: str) -> None:
    with pytest.raises(InputError, match=f"{words}. Hint: name the encoding"):
        decoded(data, encoding, strict=True)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([None, "utf-8", "cp1252", "shift_jis", "utf-16", "utf-16-be", "utf-7"]))
def test_any_bytes_are_read_as_text(data: bytes, encoding: str | None) -> None:
    try:
        decoded(b"a," + data, encoding)  # "a,": no signature of a binary file
    except InputError:
        assert encoding == "utf-16"  # which needs a byte order mark


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
def test_text_comes_back(text: str) -> None:
    assert decoded(("\ufeff" + text).encode())[0] == text


def test_the_file_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("id,ort\n1,Köln\n2,Düren\n".encode() + b"3,L\xfcbeck\n")
    source = open_source(str(path), ReadOptions())
    assert read_all(source).rows.column("ort").to_pylist() == ["Köln", "Düren", "L\ufffdbeck"]
    with pytest.raises(InputError, match="line 4: byte 0xfc"):
        read_all(open_source(str(path), ReadOptions(strict=True)))


def test_the_guess_is_imported_only_when_needed() -> None:
    program = "import sys, rfod._io.locations; sys.exit('charset_normalizer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0
