"""Where the datasets come from, and how to build the same Parquet files from the original downloads:

    python -m benchmarks.paper.sources                                   what to download, from where
    python -m benchmarks.paper.sources wine bank --from downloads --to data
    python -m benchmarks.paper.sources --check                           the files in RFOD_DATA against the list below

Nothing is downloaded here. Kaggle gives files to accounts only; where a public copy of the same file is known it is
named too. `cells` is a checksum over the cells of the table, whatever the order of its rows and the version of the
Parquet writer; `sha256` is that of the file which the results were made from. Checksums of the original downloads are
not known, since the files came from public copies; a build is right if its `cells` agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import datasets, record
from benchmarks.paper import building

UCI = "https://archive.ics.uci.edu/dataset/"
UNSW = "https://research.unsw.edu.au/projects/unsw-nb15-dataset"


@dataclass(frozen=True)
class Source:
    """`files` are what `build` reads, by the names they have after unpacking."""

    where: str
    files: tuple[str, ...]
    build: Callable[[Path], pd.DataFrame]
    rows: int
    anomalies: int
    cells: str
    sha256: str
    account: str = ""
    note: str = ""


SOURCES: dict[str, Source] = {
    "pima": Source(
        "https://raw.githubusercontent.com/jbrownlee/Datasets/master/pima-indians-diabetes.csv",
        ("pima-indians-diabetes.csv",),
        building.pima,
        rows=768,
        anomalies=268,
        cells="2fd9995e600511c6",
        sha256="5002c84d66e73bb3787c826178f0e5615e9fd95e6e1d78f2d53e58a58d547026",
        note=(
            "The same rows as diabetes.csv of kaggle.com/datasets/uciml/pima-indians-diabetes-database, without "
            "its header."
        ),
    ),
    "ionosphere": Source(
        UCI + "52/ionosphere",
        ("ionosphere.data",),
        building.ionosphere,
        rows=351,
        anomalies=126,
        cells="8559c0f6cc4e2e52",
        sha256="3aa803939f39427feac9586ecaf06fe7df555e05d4e7650ba773ca7bf34d308b",
    ),
    "arrhythmia": Source(
        UCI + "5/arrhythmia",
        ("arrhythmia.data",),
        building.arrhythmia,
        rows=452,
        anomalies=207,
        cells="6c83ddaba845a7c6",
        sha256="6a3f0323df754040632f21d9150125e4fde764d12d6aaf8a34edf16774598beb",
        note="A class other than 1 is an anomaly; ? is missing.",
    ),
    "cardiotocography": Source(
        UCI + "193/cardiotocography",
        ("CTG.xls",),
        building.cardiotocography,
        rows=2_126,
        anomalies=471,
        cells="5ba870048e5a3d68",
        sha256="56d4bd95319445645cf6854deaf6ecb18a82edbccfcafbd447cc6e5567697337",
        note="NSP other than 1 is an anomaly; the expert code CLASS is the 22nd feature. Needs xlrd.",
    ),
    "wine": Source(
        UCI + "186/wine+quality",
        ("winequality-white.csv",),
        building.wine,
        rows=4_898,
        anomalies=1_243,
        cells="d2e3cc13235cb98b",
        sha256="38fb51400fb7682bb66c86ec1a11638d4001338cf131a0511036b4a0d91e38d1",
        note="A quality other than 5 or 6 is an anomaly.",
    ),
    "spambase": Source(
        UCI + "94/spambase",
        (
            "spambase.data",
            "spambase.names",
        ),
        building.spambase,
        rows=4_601,
        anomalies=1_813,
        cells="660299d476fac61a",
        sha256="a8442175cde331795e92d05084aa696cb5e3f6909f868b692890e967bb761301",
    ),
    "pageblocks": Source(
        UCI + "78/page+blocks+classification",
        ("page-blocks.data",),
        building.pageblocks,
        rows=5_473,
        anomalies=560,
        cells="e2380bb33bd85611",
        sha256="b95d04d9ed88ca57b62407d8f84532bea08cc1de4e5b3419bf1aa91727a00520",
        note="Unpack page-blocks.data.Z; a class other than 1 is an anomaly.",
    ),
    "thyroid": Source(
        "https://doi.org/10.7910/DVN/OPQMVF",
        ("annthyroid-unsupervised-ad.csv",),
        building.thyroid,
        rows=6_916,
        anomalies=250,
        cells="02058112373bfe98",
        sha256="7f061f62c114c3de77e3b5c028cbb8cc6c3548bcb3d89ea67420f07ab473d94e",
        note="Goldstein and Uchida, Harvard Dataverse: annthyroid-unsupervised-ad.tab in the original format.",
    ),
    "ethereum": Source(
        "https://www.kaggle.com/datasets/vagifa/ethereum-frauddetection-dataset",
        ("transaction_dataset.csv",),
        building.ethereum,
        rows=9_841,
        anomalies=2_179,
        cells="9f94406ada5fa0e3",
        sha256="ccdbd2c9067b53b81a38027a9d53ec95e25ca4a279410df8bde99bfbf40ff5a5",
        account="Kaggle",
        note=(
            "The results are on a public copy (github.com/Anurag-Dutta/Ethereum, Eth_Pub_19122022.csv); whether "
            "its cells are those of Kaggle was not checked."
        ),
    ),
    "bank": Source(
        UCI + "222/bank+marketing",
        ("bank-full.csv",),
        building.bank,
        rows=45_211,
        anomalies=5_289,
        cells="7a9fc22ab3c574eb",
        sha256="ee4051a3fb4ded3a99b0e3fe076271db0cc06c413f80985f428beb674f8fa789",
    ),
    "dos": Source(
        UNSW,
        ("UNSW_NB15_training-set.csv",),
        building.dos,
        rows=41_089,
        anomalies=4_089,
        cells="77b8844aa59c681f",
        sha256="30e1a1214b24bd5e816b0b7cb3fb07c099230e9bcb1723c7327c8cdcb022cdee",
        note="Only the file of 82,332 rows could be had; the paper's table also takes the one of 175,341 rows.",
    ),
    "online_fraud": Source(
        "https://www.kaggle.com/datasets/ealaxi/paysim1",
        (
            "fraud_sample.csv",
            "paysim_sample.csv",
        ),
        building.online_fraud,
        rows=80_000,
        anomalies=112,
        cells="da56127cddca2724",
        sha256="03de8fa18e9e371de2dd463fdddbe2c2e9e0db3897063d69544dbc7daaa1c0ab",
        account="Kaggle",
        note=(
            "Not the paper's sample, which is not published: two public samples of PaySim "
            "(github.com/arvi1709/financial-fraud-detection-ml and github.com/Shivam-processing/SQL_FraudDetect) "
            "joined. How the 30,000 rows of the second were drawn is known in outline only, so the cells of a "
            "build may differ."
        ),
    ),
    "backdoor": Source(
        UNSW,
        (
            "UNSW_NB15_training-set.csv",
            "UNSW_NB15_testing-set.csv",
        ),
        building.backdoor,
        rows=95_329,
        anomalies=2_329,
        cells="e3a795e6e635a540",
        sha256="c1bcf7730f70c309e2e9ffe2a0f0e48b2fe4d29bc2e0d2e26d8f9d5c69f9b4a1",
        note=(
            "A build has the original values of the paper's rows. The results are on values decoded from a "
            "rounded copy (github.com/GuansongPang/ADRepository-Anomaly-detection-datasets), because the file of "
            "175,341 rows could not be had, so the cells of a build differ."
        ),
    ),
    "fraud": Source(
        "https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
        ("creditcard.csv",),
        building.fraud,
        rows=284_807,
        anomalies=492,
        cells="773e157296c59f65",
        sha256="b0aa622c079809d2c4d1219188842550804e0cfaf336ff484209365afdf3a30d",
        account="Kaggle",
        note=(
            "Without an account: storage.googleapis.com/download.tensorflow.org/data/creditcard.csv. V1 to V28 "
            "are rounded to float32."
        ),
    ),
    "kdd": Source(
        "https://kdd.ics.uci.edu/databases/kddcup99/",
        ("kddcup.data_10_percent.gz",),
        building.kdd,
        rows=494_021,
        anomalies=97_278,
        cells="d058898ec908b1c7",
        sha256="f8b0974a696d3fd228f1c66bce76376e98b1bc46210dc72cb9b4aeb17a5c43a7",
        note='The minority class "normal." is the anomaly, as in the paper, which uses the full file.',
    ),
    "online_fraud_50k": Source(
        "https://www.kaggle.com/datasets/ealaxi/paysim1",
        ("fraud_sample.csv",),
        building.online_fraud_50k,
        rows=50_000,
        anomalies=70,
        cells="d8a2790a83fe4ea5",
        sha256="d9f4d6df4a9aafcc76fbd3b96b0b07b28a3ce0e3ebabea42b97c908b55c3a731",
        account="Kaggle",
        note="The first of the two samples of online_fraud.",
    ),
}


def fingerprint(table: pd.DataFrame) -> str:
    """A checksum over names and cells that does not depend on the order of rows."""
    plain = {
        str(name): column.astype("string").fillna("").astype(object)
        if isinstance(column.dtype, pd.CategoricalDtype)
        else column.astype("float64")
        for name, column in table.items()
    }
    rows = pd.util.hash_pandas_object(pd.DataFrame(plain), index=False, categorize=False).sort_values()
    digest = hashlib.sha256("\n".join(plain).encode())
    digest.update(rows.to_numpy().tobytes())
    return digest.hexdigest()[:16]


def build(name: str, downloads: Path, target: Path) -> bool:
    """Write one Parquet file and its entry in MANIFEST.json; whether its cells are those of the results."""
    source = SOURCES[name]
    table = source.build(downloads)
    target.mkdir(parents=True, exist_ok=True)
    table.to_parquet(target / f"{name}.parquet", index=False)
    place = target / "MANIFEST.json"
    entries = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    entries[name] = {
        "file": f"{name}.parquet",
        "rows": len(table),
        "features": table.shape[1] - 1,
        "anomalies": int(table["label"].sum()),
        "source": source.where,
        "cells": fingerprint(table),
    }
    record.write_json(place, entries)
    return bool(entries[name]["cells"] == source.cells)


def main() -> None:
    arguments = _arguments()
    names = arguments.datasets or list(SOURCES)
    if arguments.check:
        sys.exit(_check(names))
    if arguments.downloads is None:
        _list(names)
        return
    for name in names:
        same = build(name, arguments.downloads, arguments.to)
        print(f"{name:<20}{'cells as in the results' if same else 'built, but its cells are not those of the results'}")


def _check(names: list[str]) -> int:
    wrong = 0
    for name in names:
        path = datasets.folder() / f"{name}.parquet"
        known = "not there"
        if path.is_file():
            same = fingerprint(pd.read_parquet(path)) == SOURCES[name].cells
            known = "as in the results" if same else "differs"
        wrong += known != "as in the results"
        print(f"{name:<20}{known}")
    return int(wrong > 0)


def _list(names: list[str]) -> None:
    for name in names:
        source = SOURCES[name]
        print(f"{name}\n  {source.where}\n  files: {', '.join(source.files)}")
        print(f"  {source.rows:,} rows, {source.anomalies:,} anomalies, cells {source.cells}")
        if source.account:
            print(f"  needs an account at {source.account}")
        if source.note:
            print(f"  {source.note}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", metavar="dataset", help=f"of {', '.join(SOURCES)}")
    parser.add_argument("--from", dest="downloads", type=Path, help="folder with the unpacked downloads")
    parser.add_argument("--to", type=Path, default=Path("data"), help="folder for the Parquet files")
    parser.add_argument("--check", action="store_true", help="compare the files in RFOD_DATA with this list")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.datasets if name not in SOURCES]
    if unknown:
        parser.error(f"there is no dataset {', '.join(unknown)}; known are {', '.join(SOURCES)}")
    return arguments


if __name__ == "__main__":
    main()
