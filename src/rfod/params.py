"""The parameters of a fit: names, defaults and what they may be. Imports nothing that takes time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral, Real
from typing import Any, Literal, get_args

from rfod.exceptions import ParameterError

KINDS = {
    "numeric": "numeric",
    "categorical": "categorical",
    "boolean": "categorical",
    "datetime": "moments",
    "time": "moments",
    "duration": "moments",
    "code": "code",
}
"""Kinds of columns, each with the module of `rfod._table.kinds` that has its class."""
LEFT_OUT_KINDS = ("identifier", "text", "ignore")
"""What `column_types` may say of a column that is not to be modelled."""
ErrorKind = Literal["swap", "factor", "sign", "shift", "category", "typo", "blank"]
ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
"""What a self-check plants. swap: the value of another row; factor: ten times the value; sign: turned round; shift: one
to three spreads of the column away; category: another known one, whichever; typo: one slip of the finger; blank: no
value."""
AS_PUBLISHED: dict[str, Any] = {
    "aggregation": "uncertainty",
    "uncertainty": "raw",
    "max_features": None,
    "max_predictors": None,
    "min_samples_leaf": 1,
    "max_samples": None,
    "fitness": "plain",
}
"""The paper's letter, where the defaults differ: its row score, raw uncertainty, all columns as predictors and per
node, leaves of one row, all rows per tree, plain R². docs/design.md lists what still differs."""
SCAN_TRIM = 0.1
SCAN_SAMPLE_ROWS = 200_000  # a file with more rows is not held in memory by a scan
FIT_SAMPLE_ROWS = 1_000_000  # a source with more rows is fitted on a sample of this size
SURE = 0.95  # probability from which on a repair is made unless the caller says otherwise
MOST_JSON_FINDINGS = 1_000  # that --json of scan and score lists; a file of as many may lack some
SCAN_SEED = 0  # a scan gives the same answer twice unless asked otherwise
ROWS_PER_TREE = 4096  # drawn for a tree by default
MIN_OUT_OF_BAG = 1024  # rows that the fitness of a tree is measured on, where there are so many


@dataclass(eq=False)
class ParamFields:
    """What `RFOD` takes, with its defaults; `RFOD` documents each of them."""

    n_estimators: int = 100
    _: KW_ONLY
    alpha: float = 0.02
    beta: float = 0.5
    max_features: float | int | str | None = 1 / 3
    max_predictors: int | None = 48
    min_samples_leaf: int = 5
    max_depth: int | None = None
    max_samples: float | int | str | None = "auto"
    max_bins: int = 255
    fitness: str = "robust"
    uncertainty: str = "scaled"
    aggregation: str = "consensus"
    distance: str = "agd"
    trim: float = 0.0
    contamination: float | str = "auto"
    keep_evidence: bool = True
    column_types: Mapping[str, str] | None = None
    columns: Sequence[str] | None = None
    exclude: Sequence[str] | None = None
    random_state: Any = None
    n_jobs: int | None = -1
    verbose: int = 0


@dataclass(eq=False)
class Params(ParamFields):
    """The parameters of a fit, checked; numpy scalars have become the Python numbers they stand for."""

    def __post_init__(self) -> None:
        """Raise `ParameterError` for the first parameter that is out of range."""
        for name, (is_valid, wanted) in _CHECKS.items():
            value = getattr(self, name)
            if not is_valid(value):
                raise ParameterError(f"{name} is {value!r}; it must be {wanted}.")
            setattr(self, name, _plain(value))

    def to_json(self) -> dict[str, Any]:
        """The parameters as a model file holds them: plain JSON values."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        settings["column_types"] = dict(self.column_types) if self.column_types else None
        for name in ("columns", "exclude"):
            settings[name] = None if settings[name] is None else list(settings[name])
        settings["random_state"] = self.random_state if isinstance(self.random_state, int) else None
        return settings

    def n_tried(self, n_predictors: int) -> int:
        """Features tried per node."""
        wanted = self.max_features
        if wanted is None:
            n_tried = n_predictors
        elif wanted == "sqrt":
            n_tried = int(n_predictors**0.5)
        elif wanted == "log2":
            n_tried = n_predictors.bit_length() - 1
        else:
            n_tried = wanted if isinstance(wanted, int) else int(float(wanted) * n_predictors)
        return min(max(1, n_tried), n_predictors)

    def n_draws(self, n_rows: int) -> int:
        """Rows drawn, with replacement, for one tree of a target column that has so many."""
        wanted = ROWS_PER_TREE if self.max_samples == "auto" else self.max_samples
        if wanted is None:
            return max(1, n_rows)
        return max(1, min(n_rows, wanted) if isinstance(wanted, int) else round(float(wanted) * n_rows))

    def n_out_of_bag(self, n_rows: int) -> int:
        """Most out-of-bag rows that the fitness of a tree is measured on."""
        return max(self.n_draws(n_rows), MIN_OUT_OF_BAG)


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number it stands for."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any, low: float, high: float = float("inf")) -> bool:
    return _number(value) and isinstance(value, Integral) and low <= value <= high  # type: ignore[operator]


def _between(value: Any, low: float, high: float) -> bool:
    """low < value <= high."""
    return _number(value) and bool(low < value <= high)


def _is_kinds(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for item in value.items() for part in item)


def _is_names(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return is_list and all(isinstance(name, str) for name in value)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_estimators": (lambda v: _whole(v, 1, 2**31), "a whole number of at least 1"),
    "alpha": (lambda v: _between(v, 0, 0.5) and v < 0.5, "a number between 0 and 0.5, both excluded"),
    "beta": (lambda v: _between(v, 0, 1), "a number above 0 and at most 1"),
    "max_features": (
        lambda v: v is None or v in ("sqrt", "log2") if not isinstance(v, Real) else _whole(v, 1) or _between(v, 0, 1),
        "a share above 0 and at most 1, a whole number of at least 1, 'sqrt', 'log2' or None",
    ),
    "max_predictors": (lambda v: v is None or _whole(v, 1, 2**31), "a whole number of at least 1, or None"),
    "min_samples_leaf": (lambda v: _whole(v, 1, 2**31), "a whole number of at least 1"),
    "max_depth": (lambda v: v is None or _whole(v, 1, 2**31), "a whole number of at least 1, or None"),
    "max_samples": (
        lambda v: v is None or v == "auto" if not isinstance(v, Real) else _whole(v, 1, 2**31) or _between(v, 0, 1),
        "'auto', a whole number of at least 1, a share above 0 and at most 1, or None",
    ),
    "max_bins": (lambda v: _whole(v, 2, 255), "a whole number from 2 to 255"),
    "fitness": (lambda v: v in ("robust", "plain"), "'robust' or 'plain'"),
    "uncertainty": (lambda v: v in ("scaled", "raw"), "'scaled' or 'raw'"),
    "aggregation": (
        lambda v: v in ("uncertainty", "mean", "surprise", "consensus"),
        "'uncertainty', 'mean', 'surprise' or 'consensus'",
    ),
    "distance": (lambda v: v in ("agd", "gower", "gower-iqr"), "'agd', 'gower' or 'gower-iqr'"),
    "trim": (lambda v: _number(v) and 0 <= v < 0.5, "a share of at least 0 and below 0.5"),
    "contamination": (lambda v: v == "auto" or _between(v, 0, 0.5), "'auto', or a share above 0 and at most 0.5"),
    "keep_evidence": (lambda v: isinstance(v, bool), "True or False"),
    "column_types": (lambda v: v is None or _is_kinds(v), "a mapping from column names to kinds, or None"),
    "columns": (lambda v: v is None or _is_names(v), "a list of column names, or None"),
    "exclude": (lambda v: v is None or _is_names(v), "a list of column names, or None"),
    "random_state": (
        lambda v: v is None or hasattr(v, "randint") or _whole(v, 0, 2**32 - 1),
        "a whole number from 0 to 2**32 - 1, a RandomState or None",
    ),
    "n_jobs": (lambda v: v is None or (_whole(v, -(2**31)) and v != 0), "a whole number other than 0, or None"),
    "verbose": (lambda v: _whole(v, 0) or isinstance(v, bool), "0 or 1"),
}
