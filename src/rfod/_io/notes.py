"""What a reader noticed and did about it, said once per source instead of once per line."""

from __future__ import annotations

from dataclasses import dataclass, field

EXAMPLES = 5


@dataclass
class _Places:
    """How often something happened, and where first."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def __str__(self) -> str:
        return ", ".join(self.examples) + (", ..." if self.count > len(self.examples) else "")


@dataclass
class Notes:
    """Everything worth saying about one source."""

    said: list[str] = field(default_factory=list)
    bad_lines: _Places = field(default_factory=_Places)
    empty_lines: _Places = field(default_factory=_Places)
    odd_values: dict[tuple[str, str], _Places] = field(default_factory=dict)
    """By column and what its values should have been."""
    n_nul_bytes: int = 0

    def say(self, text: str) -> None:
        """A remark; the same one is kept once."""
        if text not in self.said:
            self.said.append(text)

    def bad_line(self, line: int, n_fields: int) -> None:
        """A line with too many or too few fields, which was left out."""
        self.bad_lines.add(f"{line:,} ({n_fields} field{'s' if n_fields != 1 else ''})")

    def odd_value(self, column: str, wanted: str, count: int, examples: list[tuple[str, int | None]]) -> None:
        """Values that do not read as the rest of their column, which were taken as missing."""
        places = self.odd_values.setdefault((column, wanted), _Places())
        places.count += count
        for value, line in examples[: EXAMPLES - len(places.examples)]:
            places.examples.append(f"{value[:40]!r}" + (f" (line {line:,})" if line else ""))

    def texts(self) -> list[str]:
        """One text per matter, each a line long."""
        texts = list(self.said)
        if self.bad_lines.count:
            texts.append(
                f"{self.bad_lines.count:,} line(s) left out, because they have another number of fields than the "
                f"header: line {self.bad_lines}."
            )
        if self.empty_lines.count:
            texts.append(f"{self.empty_lines.count:,} line(s) without any value left out: line {self.empty_lines}.")
        if self.n_nul_bytes:
            texts.append(f"{self.n_nul_bytes:,} NUL byte(s) removed.")
        for (column, wanted), places in self.odd_values.items():
            texts.append(
                f"column {column!r}: {places.count:,} value(s) are no {wanted} and count as missing: {places}. "
                f"Hint: --type {column!r}=categorical reads the column as text."
            )
        return texts
