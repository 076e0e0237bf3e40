"""What can go wrong with a file, always with its name and a way out, and never with a password."""

from __future__ import annotations

import re

from rfod.exceptions import RFODError

_MASK = "***"
# To the last @ of the word: a password may hold @, : and / too. Rather a host too many masked than a password shown.
_IN_ADDRESS = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s:/]*:)\S*(?P<after>@)", re.IGNORECASE)
_NAMED = re.compile(
    r"""
    (?P<before> (?:passw(?:or)?d | passphrase | pwd | secret | token | api_?key) \s* = \s* )
    (?: ' (?: [^'\\] | \\. | '' )* (?: ' | $ )         # quoted, or cut off within the quotes
      | " (?: [^"\\] | \\. | "" )* (?: " | $ )
      | \{ [^}]* (?: \} | $ )
      | [^\s&;]+? (?= ['")\]},.:]* (?: [\s&;] | $ ) )  # plain, without the punctuation behind it
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)


def redacted(text: str) -> str:
    """The text with `***` for passwords in addresses (`scheme://user:password@host`) and in `password=...`."""
    text = _IN_ADDRESS.sub(rf"\g<before>{_MASK}\g<after>", text)
    return _NAMED.sub(rf"\g<before>{_MASK}", text)


class InputError(RFODError, ValueError):
    """A file, stream or database cannot be read as a table. Its message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(redacted(message))


class OutputError(RFODError, OSError):
    """An answer cannot be written where it should go. Its message holds no password."""

    def __init__(self, message: str) -> None:
        super().__init__(redacted(message))
