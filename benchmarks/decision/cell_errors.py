"""Errors in one cell: slips of the hand, of the eye and of the unit.

Each function takes a random generator, a column and the text of a cell, and returns the wrong text, or None where
the error does not apply.
"""

import re

import numpy as np

from benchmarks.decision.profiles import NUMBER, Column

UNIT_FACTORS = (10, 100, 1000, 2.54, 1.609344, 0.45359237, 60, 3.28084)
KEYBOARD = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm")
_LOOK_ALIKE = {
    "0": "O",
    "O": "0",
    "1": "l",
    "l": "1",
    "I": "l",
    "5": "S",
    "S": "5",
    "8": "B",
    "B": "8",
    "2": "Z",
    "Z": "2",
    "6": "b",
    "b": "6",
    "g": "9",
    "9": "g",
    "o": "0",
    "i": "1",
    "m": "rn",
    "e": "c",
    "c": "e",
    "h": "b",
    "u": "v",
}
_GAPS_IN_TEXT = ("N/A", "NA", "n/a", "?", "-", "--", "unknown", "Unknown", "none", "null", "missing", "TBD", "xxx", ".")
_GAPS_IN_NUMBERS = ("9999", "999", "99", "-1", "-9", "-99", "-999", "99999", "0", "N/A", "NA", "?", "-", "n/a", ".")
_GAPS_IN_DATES = ("1900-01-01", "9999-12-31", "1970-01-01", "01/01/1900", "0000-00-00", "N/A", "unknown", "?")
_AFFIXES = ("{}*", "*{}", "{}?", "({})", "{} [1]", "'{}'", "#{}", "{};", "{} - see note", "{},", "_{}", "{} (?)")
_TEXT_AFFIXES = (
    "{} (old)",
    "old {}",
    "{} etc.",
    "the {}",
    "{} 2",
    "{}-1",
    "x{}",
    "{}_new",
    "{} (copy)",
    "{}<br>",
    "re: {}",
)
_NUMBER_AFFIXES = (
    "~{}",
    "{} approx.",
    "ca. {}",
    "${}",
    "{}%",
    "{} USD",
    "{} kg",
    "{} cm",
    "{} yrs",
    "<{}",
    ">{}",
    "={}",
    "{}+",
    "{} units",
    "{}.",
    "{}-",
    "{}e",
)
_ACCENTS = {
    "e": "Ã©",
    "a": "Ã¡",
    "o": "Ã¶",
    "u": "Ã¼",
    "i": "Ã\xad",
    "n": "Ã±",
    "'": "â€™",
    "-": "â€“",
    "c": "Ã§",
    " ": "Â ",
}


def _neighbours(letter: str) -> str:
    for position, line in enumerate(KEYBOARD):
        at = line.find(letter)
        if at >= 0:
            beside = line[max(0, at - 1) : at] + line[at + 1 : at + 2]
            below = KEYBOARD[position + 1][max(0, at - 1) : at + 1] if position + 1 < len(KEYBOARD) else ""
            above = KEYBOARD[position - 1][at : at + 2] if position else ""
            return beside + below + above
    return ""


def _pick(rng: np.random.Generator, options: "list[int] | tuple[str, ...] | list[str] | str") -> str:
    return options[int(rng.integers(len(options)))]  # type: ignore[return-value]


def _positions(cell: str, pattern: str) -> list[int]:
    return [match.start() for match in re.finditer(pattern, cell)]


def _without_leading_zero(column: Column, text: str) -> str | None:
    """A number that would give itself away by its format is no planted error."""
    return None if column.is_number and re.match(r"[+-]?0\d", text) else text


def keyboard(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """One wrong, missing, doubled or exchanged letter."""
    letters = _positions(cell, r"[A-Za-z]")
    if not column.is_text or not letters:
        return None
    at = letters[int(rng.integers(len(letters)))]
    way = int(rng.integers(4))
    if way == 0:
        near = [key for key in _neighbours(cell[at].lower()) if key.isalpha()]
        key = near[int(rng.integers(len(near)))]
        return cell[:at] + (key.upper() if cell[at].isupper() else key) + cell[at + 1 :]
    if way == 1 and len(cell) > 2:
        return cell[:at] + cell[at + 1 :]
    if way == 2:
        return cell[:at] + cell[at] + cell[at:]
    if at + 1 < len(cell) and cell[at + 1].isalpha() and cell[at + 1] != cell[at]:
        return cell[:at] + cell[at + 1] + cell[at] + cell[at + 2 :]
    return None


def ocr(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A character read as one that looks alike."""
    places = [at for at, letter in enumerate(cell) if letter in _LOOK_ALIKE]
    if not places:
        return None
    at = places[int(rng.integers(len(places)))]
    return cell[:at] + _LOOK_ALIKE[cell[at]] + cell[at + 1 :]


def encoding(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """UTF-8 read as Latin-1, or a letter lost to '?' or U+FFFD."""
    if not column.is_text or len(cell) < 3:
        return None
    if not cell.isascii():
        broken = cell.encode("utf-8").decode("cp1252", errors="replace")
        return broken if rng.random() < 0.6 else "".join(letter if letter.isascii() else "?" for letter in cell)
    places = [at for at, letter in enumerate(cell) if letter in _ACCENTS]
    if not places:
        return None
    at = places[int(rng.integers(len(places)))]
    replacement = _ACCENTS[cell[at]] if rng.random() < 0.7 else "\ufffd"
    return cell[:at] + replacement + cell[at + 1 :]


def case(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Capitals where the column has none, or the reverse."""
    if not column.is_text:
        return None
    return [cell.upper(), cell.lower(), cell.title(), cell.swapcase()][int(rng.integers(4))]


def white_space(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A space too many or too few inside the value."""
    gaps = _positions(cell.strip(), " ")
    if gaps and rng.random() < 0.8:
        at = gaps[int(rng.integers(len(gaps)))]
        return cell[:at] + ("  " if rng.random() < 0.5 else "") + cell[at + 1 :]
    if len(cell) < 3:
        return None
    at = int(rng.integers(1, len(cell)))
    return cell[:at] + " " + cell[at:]


def truncation(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """The end is cut off."""
    if not column.is_text or len(cell) < 4:
        return None
    return cell[: int(rng.integers(max(2, len(cell) // 3), len(cell)))].rstrip()


def abbreviation(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """First letters, or a word without its vowels."""
    if not column.is_text or len(cell) < 5:
        return None
    words = cell.split()
    if len(words) > 1 and rng.random() < 0.5:
        return "".join(word[0].upper() for word in words)
    at = int(rng.integers(len(words)))
    word = words[at]
    if len(word) < 4:
        return None
    words[at] = word[0] + re.sub("[aeiou]", "", word[1:]) if rng.random() < 0.5 else word[:3] + "."
    return " ".join(words)


def affix(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Text before or after the value that does not belong to it."""
    special = _NUMBER_AFFIXES if column.is_number else _TEXT_AFFIXES if column.is_text else _AFFIXES
    return _pick(rng, special if rng.random() < 0.5 else _AFFIXES).format(cell)


def word_order(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Words or parts in another order."""
    for separator in (", ", " ", "-", "/"):
        parts = cell.split(separator)
        if column.is_text and len(parts) > 1 and len(set(parts)) > 1:
            return separator.join(parts[at] for at in rng.permutation(len(parts)))
    return None


def date_order(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Day and month exchanged, as far as the result is a date."""
    if column.date_parts is None:
        return None
    day, month = column.date_parts
    date, space, time = cell.partition(" ")
    parts = re.split(r"([-/.])", date)
    if len(parts) != 5:
        return None
    if max(int(parts[2 * day]), int(parts[2 * month])) > 12:
        return None
    parts[2 * day], parts[2 * month] = parts[2 * month], parts[2 * day]
    return "".join(parts) + space + time


def digit_transposition(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Two neighbouring digits exchanged."""
    pairs = [at for at in _positions(cell, r"\d(?=\d)") if cell[at] != cell[at + 1]]
    if not pairs:
        return None
    at = pairs[int(rng.integers(len(pairs)))]
    return _without_leading_zero(column, cell[:at] + cell[at + 1] + cell[at] + cell[at + 2 :])


def digit_count(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A digit dropped or typed twice; the decimals stay."""
    whole = cell.partition(".")[0] if NUMBER.fullmatch(cell) else cell
    digits = _positions(whole, r"\d")
    if not digits:
        return None
    at = digits[int(rng.integers(len(digits)))]
    if rng.random() < 0.5 and len(digits) > 1:
        shorter = cell[:at] + cell[at + 1 :]
        return _without_leading_zero(column, shorter)
    return cell[:at] + cell[at] + cell[at:]


def digit_wrong(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """One digit replaced by another, often a neighbour on the keyboard."""
    digits = _positions(cell, r"\d")
    if not digits:
        return None
    at = digits[int(rng.integers(len(digits)))]
    options = _neighbours(cell[at])[:2] if rng.random() < 0.5 else "0123456789"
    digit = _pick(rng, [key for key in options if key.isdigit()] or list("0123456789"))
    changed = cell[:at] + digit + cell[at + 1 :]
    return _without_leading_zero(column, changed)


def decimal_point(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """The decimal point one or two places off, written with the column's decimals."""
    if not column.is_measure or not NUMBER.fullmatch(cell):
        return None
    factor = 10.0 ** int(rng.choice([-2, -1, -1, 1, 1, 2]))
    return column.write(float(cell) * factor, cell)


def sign(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """The sign lost or added."""
    if not column.is_measure or not NUMBER.fullmatch(cell) or float(cell) == 0:
        return None
    return cell[1:] if cell.startswith("-") else "-" + cell.lstrip("+")


def unit(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """The value in another unit, written with the column's decimals."""
    if not column.is_measure or not NUMBER.fullmatch(cell):
        return None
    factor = float(rng.choice(UNIT_FACTORS))
    return column.write(float(cell) * (factor if rng.random() < 0.5 else 1 / factor), cell)


def noise(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A shift of one to three and a half spreads."""
    return _shifted(rng, column, cell, float(rng.uniform(1, 3.5)))


def outlier(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A shift of four to twelve spreads."""
    return _shifted(rng, column, cell, float(rng.uniform(4, 12)))


def _shifted(rng: np.random.Generator, column: Column, cell: str, spreads: float) -> str | None:
    if not column.is_measure or not NUMBER.fullmatch(cell):
        return None
    value, shift = float(cell), spreads * column.spread
    shifted = value + shift if rng.random() < 0.5 else value - shift
    if column.is_positive and shifted < 0 and rng.random() < 0.8:
        shifted = value + shift
    return column.write(shifted, cell)


def disguised_gap(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """A code that stands for 'not known'."""
    if column.date_parts is not None:
        return _pick(rng, _GAPS_IN_DATES)
    gap = _pick(rng, _GAPS_IN_NUMBERS if column.is_number else _GAPS_IN_TEXT)
    # A value that is ordinary in its column disguises nothing.
    return None if column.counts[gap] > 0.01 * len(column.cells) else gap


def blank(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Nothing, in a column that is filled otherwise."""
    return "" if column.filled.mean() > 0.99 else None


def category(rng: np.random.Generator, column: Column, cell: str) -> str | None:
    """Another value of the column."""
    if not column.is_category:
        return None
    others = [value for value in column.distinct if value != cell]
    return _pick(rng, others) if others else None
