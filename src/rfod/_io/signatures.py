"""Files that are no tables, recognised by their first bytes."""

from __future__ import annotations

from rfod._io.errors import InputError

_OFFICE_97 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\0", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"RIFF", "a sound or video file"),
    (b"ID3", "an MP3 file"),
    (_OFFICE_97, "an Excel workbook or another Office document"),
)
# Text may begin with these, too; a NUL byte must follow soon.
_TEXT_SIGNATURES = (b"ORC", b"RIFF", b"ID3", b"PAR1", b"\xcf\xfa\xed\xfe")
_HINTS = {
    "an SQLite database": "read it by a query: --db sqlite:///FILE --sql QUERY.",
    "a Parquet file": "rename it, so that it ends in .parquet.",
    "an Arrow file": "rename it, so that it ends in .arrow.",
    "a zip archive": "unpack it first.",
    "a tar archive": "unpack it first.",
    "a 7z archive": "unpack it first.",
    "a RAR archive": "unpack it first.",
    "an HTML page": "save the table in it as CSV.",
    "an Excel workbook or another Office document": "rename a workbook, so that it ends in .xlsx or .xls.",
    "an rfod model": "name the table, not the model.",
}
_SAMPLE_BYTES = 4096


def binary_format(start: bytes) -> str | None:
    """What a file is by its first bytes, if that is no text."""
    for signature, name in _SIGNATURES:
        if start.startswith(signature) and (signature not in _TEXT_SIGNATURES or b"\0" in start[:64]):
            return name
    if start.startswith(b"PK\x03\x04"):
        return _zip_content(start)
    if start[257:262] == b"ustar":
        return "a tar archive"
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "a Python pickle"
    return None


def is_workbook(start: bytes) -> bool:
    """Whether the bytes begin like a spreadsheet of Excel or LibreOffice."""
    return binary_format(start) == "an Excel workbook or another Office document"


def _zip_content(start: bytes) -> str:
    """By the name of the first member of a zip archive."""
    length = int.from_bytes(start[26:28], "little")
    member = start[30 : 30 + length]
    content = start[30 + length : 30 + length + 80]
    if member in (b"[Content_Types].xml", b"_rels/.rels", b"docProps/app.xml", b"xl/workbook.xml"):
        return "an Excel workbook or another Office document"
    if member == b"mimetype" and b"opendocument" in content:
        return "an Excel workbook or another Office document"
    return "an rfod model" if member in (b"model.json", b"source.json") else "a zip archive"


def refuse_binary(start: bytes, name: str, is_wide: bool) -> None:
    """Raise `InputError` for bytes that are no text.

    `is_wide` says that the text is of two or four bytes per character, so that NUL bytes are no sign of anything.
    """
    found = binary_format(start)
    if found is None and start[:_SAMPLE_BYTES].lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        found = "an HTML page"
    if found is None and not is_wide:
        sample = start[:_SAMPLE_BYTES]
        if sample.count(0) > max(16, 0.05 * len(sample)):
            found = "binary data"
    if found is not None:
        hint = _HINTS.get(found, "tables are text (CSV, JSON), Parquet, Arrow or spreadsheet files.")
        problem = "under another name" if "rename" in hint else "not a table"
        raise InputError(f"{name} is {found}, {problem}. Hint: {hint}")
