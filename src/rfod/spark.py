"""Spark DataFrames: judge their rows on the executors, fit a model to a sample of them on the driver."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rfod._engine.scoring import CELL_FIELDS, score_columns
from rfod._evidence.stored import load_model
from rfod._model.model import Model
from rfod._table.table import listed
from rfod.detector import RFOD
from rfod.exceptions import ColumnMismatchError, ParameterError, SchemaError
from rfod.params import FIT_SAMPLE_ROWS, SCAN_SEED
from rfod.pipeline import detect, draw_seed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RUN = 65_536  # copies of one row that are numbered at a time
_HASH = ["rfod hash 0", "rfod hash 1"]
_KEY = "rfod key"
_CELLS = "cells array<struct<{}>>".format(", ".join(f"{field.name}: {field.type}" for field in CELL_FIELDS))


def fit(dataframe: DataFrame, sample_rows: int = FIT_SAMPLE_ROWS, **params: Any) -> RFOD:
    """Fit a detector to a DataFrame, on the cores of the driver.

    Parameters
    ----------
    dataframe
        Read twice, so that it must give the same rows both times (`cache` one that does not). Columns of arrays, maps,
        structs and bytes are left out.
    sample_rows
        A DataFrame with more rows is fitted on a uniform sample of this size. Which rows are in it, and their order,
        follows from the seed, their content and how many equal rows there are: neither partitions nor order matter.
    params
        Those of `RFOD`; `random_state` is 0 by default.
    """
    _check_installed()
    if sample_rows < 2:
        raise ParameterError(f"sample_rows is {sample_rows!r}; at least 2 rows are needed.")
    detector = RFOD(**{"random_state": SCAN_SEED} | params)
    return detector.fit(_sample(dataframe, int(sample_rows), draw_seed(detector.random_state)))


def score(model: RFOD | Model | str | os.PathLike[str], dataframe: DataFrame, cells: bool = False) -> DataFrame:
    """Judge every row of a DataFrame on the executors; lazy, as Spark's transformations are.

    Parameters
    ----------
    model
        A fitted detector or the path of a model file on the driver. Executors get it as a broadcast.
    dataframe
        Has the columns of the model, by name, among others.
    cells
        Whether to add the unusual cells of each row.

    Returns
    -------
    DataFrame
        The columns of `dataframe` and `score` (double; higher is more anomalous) and `p_value` (double). With `cells`
        also `cells`, an array of structs, most surprising first: the cells with a surprise of at least 2, with the
        fields column, observed, expected, score, weight, p_value, surprise, kind, suggestion and probability, which is
        null where the model keeps no evidence (docs/formats.md).
    """
    _check_installed()
    from pyspark.sql.types import StructType

    if isinstance(model, RFOD):
        model = model.model_
    elif not isinstance(model, Model):
        model = load_model(model)
    _check_columns(model, dataframe.columns, cells)
    shared = dataframe.sparkSession.sparkContext.broadcast(model)
    answer = StructType.fromDDL(f"score double, p_value double{f', {_CELLS}' if cells else ''}")
    run = partial(_score_batches, shared=shared, names=dataframe.columns, cells=cells)
    # mapInArrow takes a dot in a name for a field of a struct
    plain = dataframe.toDF(*(f"c{number}" for number in range(len(dataframe.columns))))
    return plain.mapInArrow(run, StructType([*dataframe.schema, *answer]))


def _check_installed() -> None:
    if find_spec("pyspark") is None:
        raise ImportError("pyspark is not installed.\nHint: pip install 'rfod[spark]'.")


def _check_columns(model: Model, names: list[str], cells: bool) -> None:
    """Raise before anything runs what every executor would raise."""
    lacking = [column.name for column in model.schema.columns if column.name not in names]
    if lacking:
        raise ColumnMismatchError(f"The DataFrame lacks {len(lacking)} columns of the model: {listed(lacking)}.")
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise SchemaError(f"Column names occur more than once: {listed(repeated)}.\nHint: rename them with toDF.")
    taken = [name for name in ("score", "p_value", *(["cells"] if cells else [])) if name in names]
    if taken:
        raise SchemaError(
            f"The DataFrame already has the columns {listed(taken)}.\nHint: rename them with withColumnRenamed."
        )


def _score_batches(
    batches: Iterable[pa.RecordBatch], shared: Any, names: list[str], cells: bool
) -> Iterator[pa.RecordBatch]:
    """Runs on the executors: the rows of one partition with their answers."""
    for batch in batches:
        if not batch.num_rows:
            continue
        table = dict(zip(names, batch.columns, strict=True))
        found = detect(shared.value, pa.table(table), n_jobs=1)  # Spark runs a task per core
        yield pa.RecordBatch.from_pydict(table | score_columns(found, cells))


def _sample(dataframe: DataFrame, n_rows: int, seed: int) -> pa.Table:
    """The `n_rows` rows with the smallest hash of seed, content and duplicate number, in the order of that hash."""
    from pyspark.sql import functions as sql

    rows = dataframe.select(_plain_columns(dataframe))
    content = [part for name in rows.columns for part in (_column(name), _column(name).isNull())]  # nulls have no hash
    content_hash = {name: sql.xxhash64(sql.lit(name), *content) for name in _HASH}
    hashed = rows.withColumns(content_hash)
    runs = sql.sequence(sql.lit(0), sql.floor((sql.col("count") - 1) / RUN))
    first, last = sql.col("run") * RUN, sql.least(sql.col("run") * RUN + RUN, "count") - 1
    numbered = (
        rows.select([value.alias(name) for name, value in content_hash.items()])
        .groupBy(*_HASH)
        .count()
        .withColumn("run", sql.explode(runs))  # no array is longer than `RUN`, however many rows are equal
        .withColumn("number", sql.explode(sql.sequence(first, last)))
    )
    keyed = numbered.select(*_HASH, sql.xxhash64(sql.lit(seed), *_HASH, "number").alias(_KEY))
    chosen = keyed.orderBy(_KEY, *_HASH).limit(n_rows).toArrow()
    wanted = dataframe.sparkSession.createDataFrame(chosen.select(_HASH).group_by(_HASH).aggregate([]))
    found = hashed.join(sql.broadcast(wanted), _HASH).dropDuplicates(_HASH).toArrow()
    sample = chosen.join(found, _HASH, join_type="inner")
    if sample.num_rows < chosen.num_rows:
        raise SchemaError("The DataFrame has other rows when it is read again.\nHint: call cache() or write it first.")
    return sample.sort_by([(name, "ascending") for name in (_KEY, *_HASH)]).select(rows.columns)


def _column(name: str) -> Column:
    """A column by its name, which may hold dots."""
    from pyspark.sql import functions as sql

    return sql.col(f"`{name.replace('`', '``')}`")


def _plain_columns(dataframe: DataFrame) -> list[Column]:
    """The columns of single values, equal ones with equal bits."""
    from pyspark.sql import types

    columns = []
    for field in dataframe.schema:
        kind, column = field.dataType, _column(field.name)
        if isinstance(kind, types.FractionalType) and not isinstance(kind, types.DecimalType):
            column = (column + 0.0).cast(kind)  # -0.0 becomes 0.0
        elif isinstance(kind, types.StringType):
            column = column.cast("string")  # by letters, whatever its collation takes for equal
        elif not isinstance(kind, types.AtomicType) or isinstance(kind, types.BinaryType):
            continue
        columns.append(column.alias(field.name))
    return columns
