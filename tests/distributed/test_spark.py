"""Spark gives the bits of one machine, whatever the partitions, their order and the executors that are lost."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rfod
from rfod import spark as rfod_spark
from tables import as_arrow, mixed_columns

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed. Hint: make test-distributed")
if shutil.which("java") is None:
    pytest.skip("no Java was found. Hint: make test-distributed installs it on Debian", allow_module_level=True)
LOCAL, CLUSTER = "local[2]", "local-cluster[2,1,1024]"
on_local, on_cluster, on_both = (
    pytest.mark.parametrize("spark", masters, indirect=True) for masters in ([LOCAL], [CLUSTER], [LOCAL, CLUSTER])
)
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

N_ROWS, SAMPLE_ROWS = 3_000, 1_000
SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "400",
    "spark.sql.session.timeZone": "America/New_York",  # scores do not depend on it
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    environment = {
        "SPARK_HOME": Path(pyspark.__file__).parent,  # whose scripts start the executors of local-cluster
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": folder / "work",
        "PYSPARK_PYTHON": sys.executable,
    }
    os.environ |= {name: str(value) for name, value in environment.items()}
    builder = pyspark.sql.SparkSession.builder.master(request.param).config(map=SETTINGS)
    builder = builder.config("spark.local.dir", str(folder)).config("spark.sql.warehouse.dir", str(folder / "tables"))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Every kind of column, names with dots, times with a zone, rows that occur several times."""
    rows = as_arrow(mixed_columns(N_ROWS)).append_column("id", pa.array([f"key-{n}" for n in range(N_ROWS)]))
    moments = rows["moment"].cast(pa.timestamp("us", "UTC"))
    rows = rows.set_column(rows.column_names.index("moment"), "moment", moments)
    return rows.rename_columns(["a.level" if name == "level" else name for name in rows.column_names])


@pytest.fixture(scope="module")
def repeated(table: pa.Table) -> pa.Table:
    """Rows without a key, most of them twice."""
    rows = table.drop_columns(["id"])
    return pa.concat_tables([rows, rows.slice(500), rows.slice(2_990)])


@pytest.fixture(scope="module")
def fitted(table: pa.Table) -> rfod.RFOD:
    return rfod.RFOD(n_estimators=6, random_state=0, exclude=["id"]).fit(table)


def by_key(answer: Any) -> pa.Table:
    return answer.toArrow().sort_by("id")


def digest(answer: pa.Table) -> str:
    """Of scores and p-values, in the order of the keys."""
    return hashlib.sha256(b"".join(answer[name].to_numpy().tobytes() for name in ("score", "p_value"))).hexdigest()


@pytest.fixture(scope="module")
def expected(fitted: rfod.RFOD, table: pa.Table) -> str:
    """The digest of local threads."""
    found = fitted.detect(table.sort_by("id"))
    return digest(pa.table({"score": found.row_scores, "p_value": found.row_p_values}))


@pytest.fixture(scope="module")
def digests() -> set[str]:
    """Of the models that Spark fitted to one table, in whichever mode."""
    return set()


def model_digest(detector: rfod.RFOD, folder: Path) -> str:
    detector.save(folder / "model.rfod")
    return hashlib.sha256((folder / "model.rfod").read_bytes()).hexdigest()


def fit(dataframe: Any, **params: Any) -> rfod.RFOD:
    return rfod_spark.fit(dataframe, **{"sample_rows": SAMPLE_ROWS, "n_estimators": 6, "n_jobs": 1} | params)


def killing_once(dataframe: Any, marker: Path) -> Any:
    """The same rows; the task of partition 2 kills its executor, unless the marker says that this has happened."""

    def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if pyspark.TaskContext.get().partitionId() == 2:
            daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
            executor = int(daemon[1])
            assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
            try:
                with marker.open("x") as file:
                    file.write(str(executor))
            except FileExistsError:
                pass
            else:
                os.kill(executor, signal.SIGKILL)
        yield from batches

    # by number: mapInArrow takes a dot in a name for a field
    named = dataframe.toDF(*(f"c{number}" for number in range(len(dataframe.columns))))
    return named.mapInArrow(pass_on, named.schema).toDF(*dataframe.columns)


def was_killed(marker: Path) -> bool:
    return not Path(f"/proc/{marker.read_text()}").exists()


@on_both
def test_scores_are_those_of_local_threads(spark: Any, table: pa.Table, fitted: rfod.RFOD, expected: str) -> None:
    dataframe = spark.createDataFrame(table).repartition(5)
    answer = rfod_spark.score(fitted, dataframe)
    assert answer.columns == [*table.column_names, "score", "p_value"]
    assert [kind for _, kind in answer.dtypes[-2:]] == ["double", "double"]
    assert digest(by_key(answer)) == expected
    assert by_key(answer).select(table.column_names).equals(by_key(dataframe))


@on_local
def test_model_from_a_file(spark: Any, table: pa.Table, fitted: rfod.RFOD, expected: str, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.rfod")
    answer = rfod_spark.score(tmp_path / "model.rfod", spark.createDataFrame(table))
    assert digest(by_key(answer)) == expected


@on_local
def test_unusual_cells(spark: Any, table: pa.Table, fitted: rfod.RFOD) -> None:
    answer = rfod_spark.score(fitted, spark.createDataFrame(table).repartition(3), cells=True)
    lines = answer.selectExpr("id", "posexplode(cells) as (place, cell)").selectExpr("id", "place", "cell.*").toArrow()
    lines = lines.sort_by([("id", "ascending"), ("place", "ascending")]).drop_columns(["place"])
    found = fitted.detect(table, key="id")
    cells = found.cells()
    unusual = cells.filter(pa.compute.greater_equal(cells["surprise"], 2))
    order = [("id", "ascending"), ("surprise", "descending"), ("column", "ascending")]
    present = lines.filter(pa.compute.not_equal(lines["kind"], "missing"))
    names = [name for name in lines.column_names if name != "probability"]
    assert present.select(names).sort_by(order).equals(unusual.select(names).sort_by(order))
    rows = {key: row for row, key in enumerate(table["id"].to_pylist())}
    for key, column, probability in zip(
        *(lines[name].to_pylist() for name in ("id", "column", "probability")), strict=True
    ):
        assert probability == found.cell_probability[rows[key], found.judged_columns.index(column)]
    assert 0 < present.num_rows <= lines.num_rows < table.num_rows
    for own in answer.select("cells.surprise").toArrow()["surprise"].to_pylist():
        assert own == sorted(own, reverse=True)


@on_both
def test_model_depends_neither_on_partitions_nor_on_order(
    spark: Any, repeated: pa.Table, digests: set[str], tmp_path: Path
) -> None:
    dataframe = spark.createDataFrame(repeated)
    for way in (dataframe.repartition(7), dataframe.orderBy("city", "count"), dataframe.coalesce(1)):
        model = fit(way)
        digests.add(model_digest(model, tmp_path))
        assert model.model_.schema.n_rows == SAMPLE_ROWS
    assert len(digests) == 1


@on_local
def test_sample_has_every_row_as_often_as_the_table(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rfod_spark, "RUN", 3)
    rows = [(1.0, None, "a"), (None, 1.0, "a"), (0.0, 1.0, "A"), (-0.0, 1.0, "A"), (0.0, 1.0, "a")]
    dataframe = spark.createDataFrame(rows * 7, "x double, y double, z string").selectExpr("*", "array(x) list")
    whole = rfod_spark._sample(dataframe.repartition(3), 100, seed=0)
    assert whole.column_names == ["x", "y", "z"]
    counted = whole.group_by(["x", "y", "z"]).aggregate([([], "count_all")]).to_pylist()
    assert {(row["x"], row["y"], row["z"]): row["count_all"] for row in counted} == {
        (1.0, None, "a"): 7,
        (None, 1.0, "a"): 7,
        (0.0, 1.0, "A"): 14,
        (0.0, 1.0, "a"): 7,
    }
    assert not np.signbit(whole["x"].drop_null().to_numpy()).any()
    assert rfod_spark._sample(dataframe.coalesce(1), 10, seed=0).equals(whole.slice(0, 10))
    assert not rfod_spark._sample(dataframe, 100, seed=1).equals(whole)


@on_local
def test_sample_is_uniform_over_equal_rows(spark: Any) -> None:
    dataframe = spark.range(20_000).selectExpr("if(id % 2 = 0, -1, id) x")
    sample = rfod_spark._sample(dataframe, 2_000, seed=0)
    assert abs(np.mean(sample["x"].to_numpy() == -1) - 0.5) < 5 * 0.5 / 2_000**0.5


@on_local
def test_rows_that_change_between_two_readings(spark: Any) -> None:

    def draw(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"x": np.frombuffer(os.urandom(8 * batch.num_rows), np.int64)})

    dataframe = spark.range(50).mapInArrow(draw, "x long")
    with pytest.raises(rfod.SchemaError, match=r"other rows when it is read again(?s:.)*cache"):
        rfod_spark.fit(dataframe)


@pytest.mark.parametrize("what", ["score", "fit"])
@on_cluster
def test_executor_is_killed(
    spark: Any,
    what: str,
    table: pa.Table,
    repeated: pa.Table,
    fitted: rfod.RFOD,
    expected: str,
    digests: set[str],
    tmp_path: Path,
) -> None:
    marker = tmp_path / "killed"
    if what == "score":
        dataframe = killing_once(spark.createDataFrame(table).repartition(6), marker)
        answer = by_key(rfod_spark.score(fitted, dataframe))
        assert answer["id"].equals(table.sort_by("id")["id"])
        assert digest(answer) == expected
    else:
        dataframe = killing_once(spark.createDataFrame(repeated).repartition(4), marker)
        digests.add(model_digest(fit(dataframe), tmp_path))
        assert len(digests) == 1
    assert was_killed(marker)


@on_local
def test_columns_are_checked_before_anything_runs(spark: Any, table: pa.Table, fitted: rfod.RFOD) -> None:
    dataframe = spark.createDataFrame(table)
    with pytest.raises(rfod.ColumnMismatchError, match="'city'"):
        rfod_spark.score(fitted, dataframe.drop("city"))
    with pytest.raises(rfod.SchemaError, match=r"'score'(?s:.)*withColumnRenamed"):
        rfod_spark.score(fitted, dataframe.withColumnRenamed("id", "score"))
    with pytest.raises(rfod.SchemaError, match="more than once: 'id'"):
        rfod_spark.score(fitted, dataframe.selectExpr("*", "id"))
    with pytest.raises(rfod.ParameterError, match="sample_rows"):
        rfod_spark.fit(dataframe, sample_rows=1)
