"""What a reader noticed and did about it, said once per source instead of once per line."""

from __future__ import annotations

from dataclasses import dataclass, field

from rfod._io.errors import redacted

EXAMPLES = 5


@dataclass
class _Places:
    """How often something happened, and where first."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    n_repeated: int = 0
    """Of these, in a place that is among the examples already."""

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def __str__(self) -> str:
        return ", ".join(self.examples) + (", ..." if self.count - self.n_repeated > len(self.examples) else "")


@dataclass
class Notes:
    """Everything worth saying about one source."""

    said: list[str] = field(default_factory=list)
    bad_lines: _Places = field(default_factory=_Places)
    empty_lines: _Places = field(default_factory=_Places)
    odd_values: dict[tuple[str, str], _Places] = field(default_factory=dict)
    """By column and what its values should have been."""
    n_nul_bytes: int = 0
    undecodable: dict[str, _Places] = field(default_factory=dict)
    """Bytes that were replaced, by encoding."""
    open_quotes: _Places = field(default_factory=_Places)
    bad_json: _Places = field(default_factory=_Places)
    """Lines without a JSON object, which were left out."""

    def say(self, text: str) -> None:
        """A remark; the same one is kept once."""
        if text not in self.said:
            self.said.append(text)

    def bad_line(self, line: int, n_fields: int) -> None:
        """A line with too many or too few fields, which was left out."""
        self.bad_lines.add(f"{line:,} ({n_fields} field{'s' if n_fields != 1 else ''})")

    def bad_bytes(self, encoding: str, count: int, lines: list[int]) -> None:
        """Bytes that are no text of the encoding, which were replaced; the lines are those of the first ones."""
        places = self.undecodable.setdefault(encoding, _Places())
        places.count += count
        for line in lines:
            if f"{line:,}" in places.examples:
                places.n_repeated += 1
            elif len(places.examples) < EXAMPLES:
                places.examples.append(f"{line:,}")

    def odd_value(self, column: str, wanted: str, count: int, examples: list[tuple[str, int | None]]) -> None:
        """Values that do not read as the rest of their column, which were taken as missing."""
        places = self.odd_values.setdefault((column, wanted), _Places())
        places.count += count
        for value, line in examples[: EXAMPLES - len(places.examples)]:
            places.examples.append(f"{value[:40]!r}" + (f" (line {line:,})" if line else ""))

    def texts(self) -> list[str]:
        """One text per matter, each a line long, without passwords."""
        texts = list(self.said)
        if self.bad_lines.count:
            texts.append(
                f"{self.bad_lines.count:,} line(s) left out, because they have another number of fields than the "
                f"header: line {self.bad_lines}."
            )
        if self.bad_json.count:
            texts.append(
                f"{self.bad_json.count:,} line(s) left out, because they hold no JSON object: line {self.bad_json}."
            )
        if self.empty_lines.count:
            texts.append(f"{self.empty_lines.count:,} line(s) without any value left out: line {self.empty_lines}.")
        if self.n_nul_bytes:
            texts.append(f"{self.n_nul_bytes:,} NUL byte(s) removed.")
        for encoding, places in self.undecodable.items():
            texts.append(
                f"{places.count:,} byte(s) that are no {encoding} read as '\ufffd': line {places}. "
                "Hint: --encoding names another encoding."
            )
        if self.open_quotes.count:
            texts.append(
                f"{self.open_quotes.count:,} quote(s) that are never closed read as ordinary characters: "
                f"line {self.open_quotes}."
            )
        for (column, wanted), places in self.odd_values.items():
            texts.append(
                f"column {column!r}: {places.count:,} value(s) are no {wanted} and count as missing: {places}. "
                f"Hint: --type {column!r}=categorical reads the column as text."
            )
        return [redacted(text) for text in texts]
