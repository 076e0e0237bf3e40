"""Building tables from downloads, on downloads of a few lines."""

import json
from pathlib import Path

import pandas as pd
from benchmarks import datasets
from benchmarks.paper import building, sources


def test_every_dataset_has_a_source() -> None:
    assert set(datasets.ALL) <= set(sources.SOURCES)
    assert all(len(source.sha256) == 64 for source in sources.SOURCES.values())


def test_categories_missing_values_and_label(tmp_path: Path) -> None:
    names = ["1"] * 279
    names[1], names[10] = "0", "?"
    (tmp_path / "arrhythmia.data").write_text(",".join([*names, "1"]) + "\n" + ",".join([*names, "10"]) + "\n")
    table = building.arrhythmia(tmp_path)
    assert table.shape == (2, 280)
    assert table["label"].tolist() == [0, 1]
    assert table["sex"].tolist() == ["0", "0"]
    assert table["T"].isna().all()
    assert sum(isinstance(kind, pd.CategoricalDtype) for kind in table.dtypes) == 73


def test_a_build_tells_whether_it_is_the_same_table(tmp_path: Path) -> None:
    (tmp_path / "winequality-white.csv").write_text('"fixed acidity";"pH";"quality"\n7;3;6\n6.3;3.3;8\n')
    assert not sources.build("wine", tmp_path, tmp_path / "data")
    built = pd.read_parquet(tmp_path / "data" / "wine.parquet")
    assert built.to_dict("list") == {"fixed_acidity": [7.0, 6.3], "pH": [3.0, 3.3], "label": [0, 1]}
    assert json.loads((tmp_path / "data" / "MANIFEST.json").read_text())["wine"]["anomalies"] == 1


def test_the_fingerprint_ignores_the_order_of_rows() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, None], "b": pd.Categorical(["x", "y", None])})
    assert sources.fingerprint(table) == sources.fingerprint(table.iloc[::-1])
    assert sources.fingerprint(table) != sources.fingerprint(table.assign(a=[1.0, 2.0, 3.0]))
