"""Tables as text: what a CSV file of them holds."""

import hashlib
import io
from collections.abc import Hashable

import numpy as np
import pandas as pd

# Names that R and pandas give to a column of row numbers or row names.
INDEX_NAMES = {"", "rownames", "row.names", "index", "x", "unnamed: 0", "unnamed:_0", "..1"}

ROW_NAMES = {"rownames", "unnamed: 0"}  # whatever they hold


def text_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Every cell as text, '' for missing, without columns of row numbers and without empty columns."""
    columns: dict[str, list[str]] = {}
    for position, name in enumerate(frame.columns):
        series = frame.iloc[:, position]
        if _is_index(name, series):
            continue
        cells = _column_text(series)
        if any(cells):
            label = str(name).strip() or f"column_{position + 1}"
            columns[label if label not in columns else f"{label}_{position + 1}"] = cells
    return pd.DataFrame(columns, dtype=object)


def checksum(table: pd.DataFrame) -> str:
    """SHA-256 of the CSV text of a table."""
    buffer = io.StringIO()
    table.to_csv(buffer, index=False, lineterminator="\n")
    return hashlib.sha256(buffer.getvalue().encode()).hexdigest()


def sample_rows(table: pd.DataFrame, n_rows: int) -> pd.DataFrame:
    """The `n_rows` rows with the lowest hash of their position, in file order: the same sample on every machine."""
    if len(table) <= n_rows:
        return table
    hashes = [hashlib.blake2b(str(row).encode(), digest_size=8).digest() for row in range(len(table))]
    rows = sorted(sorted(range(len(table)), key=hashes.__getitem__)[:n_rows])
    return table.iloc[rows].reset_index(drop=True)


def _is_index(name: Hashable, series: pd.Series) -> bool:
    if str(name).strip().lower() not in INDEX_NAMES:
        return False
    if str(name).strip().lower() in ROW_NAMES:
        return True
    numbers = pd.to_numeric(series, errors="coerce")
    return bool((numbers.diff().dropna() == 1).all())


def _column_text(series: pd.Series) -> list[str]:
    missing = series.isna().to_numpy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(object)
    if pd.api.types.is_bool_dtype(series.dtype):
        cells = ["TRUE" if value else "FALSE" for value in series.fillna(False)]
    elif pd.api.types.is_datetime64_any_dtype(series.dtype):
        cells = _date_text(series)
    elif pd.api.types.is_numeric_dtype(series.dtype):
        cells = _number_text(series.to_numpy(dtype=float, na_value=np.nan))
    else:
        numbers = pd.to_numeric(series, errors="coerce") if _holds_numbers(series) else None
        cells = (
            [" ".join(str(value).split()) for value in series]
            if numbers is None
            else _number_text(numbers.to_numpy(dtype=float))
        )
    return [
        "" if gap or cell in ("nan", "None", "NA", "NaN", "NaT", "<NA>") else cell
        for cell, gap in zip(cells, missing, strict=True)
    ]


def _holds_numbers(series: pd.Series) -> bool:
    """Whether an object column holds Python numbers, not text."""
    kinds = {type(value) for value in series.dropna()}
    return bool(kinds) and all(issubclass(kind, (int, float, np.number)) and kind is not bool for kind in kinds)


def _date_text(series: pd.Series) -> list[str]:
    dates = series.dt.tz_localize(None) if series.dt.tz is not None else series
    whole_days = (dates.dropna() == dates.dropna().dt.normalize()).all()
    return list(dates.dt.strftime("%Y-%m-%d" if whole_days else "%Y-%m-%d %H:%M:%S").fillna(""))


def _number_text(values: np.ndarray) -> list[str]:
    present = values[np.isfinite(values)]
    if np.array_equal(present, np.round(present)) and (not len(present) or np.abs(present).max() < 1e15):
        return [f"{value:.0f}" if np.isfinite(value) else "" for value in values]
    # Stata and others store single precision: 3.1 must not become 3.0999999046325684.
    single = values.astype(np.float32)
    if np.allclose(single[np.isfinite(values)].astype(float), present, rtol=1e-11, atol=0):
        return [np.format_float_positional(value, trim="-") if np.isfinite(value) else "" for value in single]
    return [_plain(value) if np.isfinite(value) else "" for value in values]


def _plain(value: float) -> str:
    text = f"{value:.12g}"
    if "e" not in text:
        return text
    return np.format_float_positional(float(text), trim="-") if 1e-7 < abs(value) < 1e15 else text
