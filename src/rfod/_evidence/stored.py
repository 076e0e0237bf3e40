"""The evidence of a model file: a profile as declared arrays, read by the reader of all model files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rfod._evidence.bounds import LONGEST_TEXT, MOST_GROUPS, MOST_KEYS, MOST_PAIRS, MOST_TEXTS, spelt
from rfod._evidence.form import MARKS, FormProfile
from rfod._evidence.numbers import N_EXTREMES, N_QUANTILES, UNKNOWN_NORM, NumberProfile, ResidualScale
from rfod._evidence.profile import FACTS, ColumnProfile, Profile
from rfod._evidence.regularities import MOST_RULES, Regularity, RuleKind
from rfod._evidence.spelling import SpellingProfile, Vocabulary
from rfod._evidence.texts import Floats, KeyCounts, Keys
from rfod._evidence.votes import MOST_DETERMINANTS, Determinant
from rfod._io.fields import Arrays, Field
from rfod._model import persist
from rfod._model.model import Model
from rfod._table.columns import Schema
from rfod.exceptions import ModelFormatError, require_intact

_ROWS = 2**40
_LARGEST = 1e151
_LETTER_BYTES = 4  # of a letter in UTF-8, at most
_KINDS: dict[RuleKind, int] = {"sum": 3, "order": 2, "equal": 2, "unique": 1, "contains": 2}
"""Kinds of regularities, by which they are numbered in the file, with the number of their columns."""
_COUNTS = ("n_rows", "n_blank", "n_padded")
_RESIDUAL = ("typical", "fitness", "tail_start", "tail_rate", "plain_fitness", "norm", "center", "around")
_N_OLD_RESIDUAL = 4  # of these, that files of 0.2.0 have
_GROUPS = ("groups", "first", "first_rows", "second", "second_rows")

FIELDS = {
    "evidence.place": Field(np.int64, ("judged",), 0, 2**31, "strict"),  # of each column among the names of the schema
    "evidence.counts": Field(np.int64, ("judged", "counts"), 0, _ROWS),
    "evidence.is_number": Field(np.uint8, ("judged",), 0, 1),
    "evidence.decimals": Field(np.int64, ("judged",), 0, _ROWS),
    "evidence.facts": Field(np.float64, ("judged", "facts"), -1e3, 1e3),
    "form.n_rows": Field(np.int64, ("judged",), 0, _ROWS),
    "form.breaks": Field(np.float64, ("judged", "marks"), 1, _ROWS),
    "form.floors": Field(np.int64, ("judged", "marks"), 0, _ROWS),
    "form.ratios": Field(np.float64, ("judged", "marks"), 0, _ROWS),
    "form.lowest": Field(np.int64, ("judged", "marks"), 0, _ROWS),
    "form.n_keys": Field(np.int64, ("judged", "marks"), 0, MOST_KEYS, lengths_of=("keys",)),
    "form.keys": Field(np.int64, ("keys",), order="strict"),
    "form.counts": Field(np.int64, ("keys",), 1, _ROWS),
    "texts.n_values": Field(np.int64, ("judged",), 0, MOST_TEXTS, lengths_of=("values",)),
    "texts.value_rows": Field(np.int64, ("values",), 2, _ROWS),
    "texts.value_bytes": Field(np.int64, ("values",), 1, _LETTER_BYTES * LONGEST_TEXT, lengths_of=("value letters",)),
    "texts.values": Field(np.uint8, ("value letters",)),
    "texts.n_words": Field(np.int64, ("judged",), 0, MOST_TEXTS, lengths_of=("words",)),
    "texts.word_rows": Field(np.int64, ("words",), 2, _ROWS),
    "texts.word_bytes": Field(np.int64, ("words",), 1, _LETTER_BYTES * LONGEST_TEXT, lengths_of=("word letters",)),
    "texts.words": Field(np.uint8, ("word letters",)),
    "numbers.n_values": Field(np.int64, ("judged",), 0, _ROWS),  # 0 for a column without a distribution
    "numbers.negative": Field(np.float64, ("judged",), 0, 1),
    "numbers.quantiles": Field(np.float64, ("measured", "quantiles"), -_LARGEST, _LARGEST),
    "numbers.n_lowest": Field(np.int64, ("measured",), 1, N_EXTREMES, lengths_of=("lowest",)),
    "numbers.lowest": Field(np.float64, ("lowest",), -_LARGEST, _LARGEST, "strict"),
    "numbers.n_highest": Field(np.int64, ("measured",), 1, N_EXTREMES, lengths_of=("highest",)),
    "numbers.highest": Field(np.float64, ("highest",), -_LARGEST, _LARGEST, "strict"),
    "numbers.residuals": Field(np.float64, ("judged", "residual"), -_LARGEST, UNKNOWN_NORM),  # 0: no forest of numbers
    "votes.n_determinants": Field(np.int64, ("judged",), 0, MOST_DETERMINANTS, lengths_of=("determinants",)),
    "votes.columns": Field(np.int64, ("determinants", "determining"), -1, 2**31),  # one or two, -1 behind the last
    "votes.agreement": Field(np.float64, ("determinants",), 0, 1),
    "votes.coverage": Field(np.float64, ("determinants",), 0, 1),
    "votes.n_groups": Field(np.int64, ("determinants",), 1, MOST_GROUPS, lengths_of=("groups",)),
    "votes.groups": Field(np.int64, ("groups",), order="strict"),
    "votes.first": Field(np.int64, ("groups",)),
    "votes.first_rows": Field(np.int64, ("groups",), 1, _ROWS),
    "votes.second": Field(np.int64, ("groups",)),
    "votes.second_rows": Field(np.int64, ("groups",), 0, _ROWS),
    "votes.n_pairs": Field(np.int64, ("determinants",), 0, MOST_PAIRS, lengths_of=("pairs",)),
    "votes.pairs": Field(np.int64, ("pairs",), order="strict"),
    "votes.pair_rows": Field(np.int64, ("pairs",), 1, _ROWS),
    "rules.kind": Field(np.uint8, ("rules",), 0, len(_KINDS) - 1),
    "rules.columns": Field(np.int64, ("rules", "columns"), -1, 2**31),  # -1 behind the last
    "rules.rows": Field(np.int64, ("rules", "rows"), 0, _ROWS),  # that it can be checked on, and its exceptions
    "rules.resolution": Field(np.float64, ("rules",), 0, 1),
}


class EvidenceArrays:
    """How a profile is stored: as arrays, and read from them."""

    fields = FIELDS

    def sizes(self, schema: Schema) -> dict[str, int]:
        """Sizes that are known before the arrays are read."""
        fixed = {"counts": len(_COUNTS), "facts": len(FACTS), "marks": len(MARKS), "quantiles": N_QUANTILES}
        return fixed | {"columns": 3, "rows": 2, "determining": 2}

    def to_arrays(self, profile: Profile, schema: Schema) -> Arrays:
        """The profile as arrays."""
        columns, votes = profile.columns, [vote for own in profile.determinants for vote in own]
        counts = [counts for column in columns for counts in column.form.counts]
        values, words = [column.frequent for column in columns], [column.spelling.words for column in columns]
        measured = [column.numbers for column in columns if column.numbers is not None]
        value_letters, value_bytes = _packed(values)
        word_letters, word_bytes = _packed([vocabulary.texts for vocabulary in words])
        rules = profile.regularities
        place = {name: number for number, name in enumerate(schema.names)}
        found = {
            "evidence.place": [place[name] for name in profile.names],
            "evidence.counts": [[getattr(column, name) for name in _COUNTS] for column in columns],
            "evidence.is_number": [column.is_number for column in columns],
            "evidence.decimals": [column.decimals for column in columns],
            "evidence.facts": [column.facts for column in columns],
            "form.n_rows": [column.form.n_rows for column in columns],
            "form.breaks": [column.form.breaks for column in columns],
            "form.floors": [column.form.floors for column in columns],
            "form.ratios": [column.form.ratios for column in columns],
            "form.lowest": [column.form.lowest for column in columns],
            "form.n_keys": np.reshape([len(own.keys) for own in counts], (-1, len(MARKS))),
            "form.keys": _joined([own.keys for own in counts]),
            "form.counts": _joined([own.counts for own in counts]),
            "texts.n_values": [len(own) for own in values],
            "texts.value_rows": _joined([column.frequent_rows for column in columns]),
            "texts.value_bytes": value_bytes,
            "texts.values": value_letters,
            "texts.n_words": [len(own.texts) for own in words],
            "texts.word_rows": _joined([own.counts for own in words]),
            "texts.word_bytes": word_bytes,
            "texts.words": word_letters,
            "numbers.n_values": [0 if column.numbers is None else column.numbers.n_values for column in columns],
            "numbers.negative": [0.0 if column.numbers is None else column.numbers.negative for column in columns],
            "numbers.quantiles": np.reshape([own.quantiles for own in measured], (-1, N_QUANTILES)),
            "numbers.residuals": [
                [0.0 if column.residuals is None else getattr(column.residuals, name) for name in _RESIDUAL]
                for column in columns
            ],
            "votes.n_determinants": [len(own) for own in profile.determinants],
            "votes.columns": np.reshape([(*vote.columns, -1)[:2] for vote in votes], (-1, 2)),
            "votes.n_groups": [len(vote.groups) for vote in votes],
            "votes.n_pairs": [len(vote.pairs.keys) for vote in votes],
            "votes.pairs": _joined([vote.pairs.keys for vote in votes]),
            "votes.pair_rows": _joined([vote.pairs.counts for vote in votes]),
            "rules.kind": [list(_KINDS).index(rule.kind) for rule in rules],
            "rules.columns": np.reshape([(*rule.columns, -1, -1)[:3] for rule in rules], (-1, 3)),
            "rules.rows": np.reshape([(rule.n_rows, rule.n_exceptions) for rule in rules], (-1, 2)),
            "rules.resolution": [rule.resolution for rule in rules],
        }
        for name in ("lowest", "highest"):
            found[f"numbers.n_{name}"] = [len(getattr(own, name)) for own in measured]
            found[f"numbers.{name}"] = _joined([getattr(own, name) for own in measured])
        for name in ("agreement", "coverage"):
            found[f"votes.{name}"] = [getattr(vote, name) for vote in votes]
        for name in _GROUPS:
            found[f"votes.{name}"] = _joined([getattr(vote, name) for vote in votes])
        return {name: np.asarray(found[name]).astype(field.dtype) for name, field in FIELDS.items()}

    def read(self, arrays: Arrays, ends: Arrays, model: Model) -> Profile:
        """The profile, after a check of all that is relied on."""
        place, names = arrays["evidence.place"], model.schema.names
        require_intact(len(place) > 0 and bool(place[-1] < len(names)), "evidence on columns that the table lacks")
        lacking = {column.name for column in model.schema.columns} - {names[k] for k in place.tolist()}
        require_intact(not lacking, "a modelled column has no evidence")
        for size, most in {"keys": MOST_KEYS, "values": MOST_TEXTS, "words": MOST_TEXTS, "groups": MOST_GROUPS}.items():
            require_intact(ends[size][-1] <= most + len(place), f"there is more evidence ({size}) than a model keeps")
        require_intact(ends["pairs"][-1] <= MOST_PAIRS, "there is more evidence (pairs) than a model keeps")
        rows, n_measured = arrays["evidence.counts"], int(np.count_nonzero(arrays["numbers.n_values"]))
        require_intact(bool((rows[:, 0] >= 1).all() and (rows <= rows[:, :1]).all()), "rows are counted twice")
        require_intact(len(arrays["numbers.quantiles"]) == n_measured, "distributions and columns do not agree")
        require_intact(bool((np.diff(arrays["numbers.quantiles"]) >= 0).all()), "quantiles do not ascend")
        arrays["numbers.residuals"] = _residuals(arrays["numbers.residuals"], place, model)
        columns = self._columns(arrays, ends, [names[k] for k in place.tolist()], model)
        determinants = self._determinants(arrays, ends, len(columns))
        return Profile(columns, determinants, _rules(arrays, len(columns)))

    def _columns(self, arrays: Arrays, ends: Arrays, names: list[str], model: Model) -> tuple[ColumnProfile, ...]:
        values = _unpacked(arrays["texts.values"], ends["value letters"])
        words = _unpacked(arrays["texts.words"], ends["word letters"])
        numeric = {c.name for c, other in zip(model.schema.columns, model.is_categorical, strict=True) if not other}
        measured = np.cumsum(arrays["numbers.n_values"] > 0) - 1
        columns = []
        for c, name in enumerate(names):
            own_values, own_words = slice(*ends["values"][c : c + 2]), slice(*ends["words"][c : c + 2])
            frequent, value_rows = tuple(values[own_values]), arrays["texts.value_rows"][own_values]
            vocabulary = Vocabulary(tuple(words[own_words]), arrays["texts.word_rows"][own_words])
            is_number = bool(arrays["evidence.is_number"][c])
            require_intact(is_number or name not in numeric, f"{name[:40]!r} is a column of numbers")
            n_values, distribution = int(arrays["numbers.n_values"][c]), None
            if n_values:
                k = int(measured[c])
                lowest, highest = (slice(*ends[size][k : k + 2]) for size in ("lowest", "highest"))
                distribution = NumberProfile(
                    arrays["numbers.quantiles"][k],
                    arrays["numbers.lowest"][lowest],
                    arrays["numbers.highest"][highest],
                    float(arrays["numbers.negative"][c]),
                    n_values,
                )
            scale = ResidualScale(*arrays["numbers.residuals"][c].tolist()) if name in numeric else None
            n_rows, n_blank, n_padded = arrays["evidence.counts"][c].tolist()
            columns.append(
                ColumnProfile(
                    name,
                    frequent,
                    _form(arrays, ends, c),
                    SpellingProfile(spelt(frequent, value_rows), vocabulary),
                    distribution,
                    scale,
                    arrays["evidence.facts"][c],
                    n_rows,
                    n_blank,
                    n_padded,
                    is_number,
                    int(arrays["evidence.decimals"][c]),
                    value_rows,
                )
            )
        return tuple(columns)

    def _determinants(self, arrays: Arrays, ends: Arrays, n_columns: int) -> tuple[tuple[Determinant, ...], ...]:
        by = arrays["votes.columns"]
        require_intact(bool((by < n_columns).all() and (by[:, 0] >= 0).all()), "a determining column is unknown")
        require_intact(bool(((by[:, 1] == -1) | (by[:, 1] > by[:, 0])).all()), "determining columns are out of order")
        votes = []
        for number in range(len(by)):
            groups, pairs = (slice(*ends[size][number : number + 2]) for size in ("groups", "pairs"))
            votes.append(
                Determinant(
                    tuple(j for j in by[number].tolist() if j >= 0),
                    float(arrays["votes.agreement"][number]),
                    float(arrays["votes.coverage"][number]),
                    **{name: arrays[f"votes.{name}"][groups] for name in _GROUPS},
                    pairs=KeyCounts(arrays["votes.pairs"][pairs], arrays["votes.pair_rows"][pairs]),
                )
            )
        own = [slice(*ends["determinants"][c : c + 2]) for c in range(n_columns)]
        require_intact(all(c not in by[part] for c, part in enumerate(own)), "a column determines itself")
        return tuple(tuple(votes[part]) for part in own)


def _residuals(found: Floats, place: Keys, model: Model) -> Floats:
    """(judged, _RESIDUAL). Models of 0.2.0 know no norms: no residual of theirs dominates or changes the fitness of a
    column, which is plain R²."""
    require_intact(found.shape[1] in (_N_OLD_RESIDUAL, len(_RESIDUAL)), "scales of residuals are incomplete")
    if found.shape[1] == _N_OLD_RESIDUAL:
        fitness = dict(zip((column.name for column in model.schema.columns), model.fitness.tolist(), strict=True))
        plain = [np.clip(np.nan_to_num(fitness.get(model.schema.names[k], 0.0)), -1, 1) for k in place.tolist()]
        unknown = np.full(len(found), UNKNOWN_NORM)
        found = np.column_stack([found, plain, unknown, np.zeros(len(found)), unknown])
    require_intact(bool((found[:, [0, 1, 3, 5, 7]] >= 0).all()), "a scale of residuals is negative")
    return found


def _form(arrays: Arrays, ends: Arrays, c: int) -> FormProfile:
    tables = [slice(*ends["keys"][k : k + 2]) for k in range(len(MARKS) * c, len(MARKS) * (c + 1))]
    return FormProfile(
        tuple(KeyCounts(arrays["form.keys"][part], arrays["form.counts"][part]) for part in tables),
        arrays["form.breaks"][c],
        int(arrays["form.n_rows"][c]),
        arrays["form.floors"][c],
        arrays["form.ratios"][c],
        arrays["form.lowest"][c],
    )


def _rules(arrays: Arrays, n_columns: int) -> tuple[Regularity, ...]:
    require_intact(len(arrays["rules.kind"]) <= MOST_RULES, "there are too many rules")
    rules = []
    for kind, columns, (n_rows, n_exceptions), resolution in zip(
        *(arrays[f"rules.{name}"].tolist() for name in ("kind", "columns", "rows", "resolution")), strict=True
    ):
        name = list(_KINDS)[kind]
        own = tuple(columns[: _KINDS[name]])
        is_whole = all(0 <= c < n_columns for c in own) and all(c == -1 for c in columns[len(own) :])
        require_intact(is_whole and n_exceptions <= n_rows, "a rule is malformed")
        rules.append(Regularity(name, own, n_rows, n_exceptions, resolution))
    return tuple(rules)


def _joined(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    return np.concatenate(parts) if parts else np.zeros(0)


def _packed(texts: Sequence[tuple[str, ...]]) -> tuple[NDArray[np.uint8], Keys]:
    """All texts in UTF-8, one after another, and their lengths in bytes."""
    encoded = [text.encode() for own in texts for text in own]
    return np.frombuffer(b"".join(encoded), np.uint8), np.array([len(part) for part in encoded], dtype=np.int64)


def _unpacked(letters: NDArray[np.uint8], ends: Keys) -> list[str]:
    try:
        texts = pa.Array.from_buffers(
            pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(letters)]
        )
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ModelFormatError("The model file is damaged: a text is not UTF-8.") from error
    return list(texts.to_pylist())


EVIDENCE = EvidenceArrays()


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model file with the evidence that the model keeps."""
    persist.save_model(model, path, EVIDENCE)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file; `ModelFormatError` for anything that `save_model` cannot have written."""
    return persist.load_model(path, EVIDENCE)
