"""The tables of the benchmark from the files as their publishers give them; the last column is `label`.

Every function takes the folder that holds the downloads and reads the files that sources.py names for its dataset.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

ARRHYTHMIA_CHANNELS = ("DI", "DII", "DIII", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
ARRHYTHMIA_HEAD = [
    "age",
    "sex",
    "height",
    "weight",
    "QRSduration",
    "PRinterval",
    "Q-Tinterval",
    "Tinterval",
    "Pinterval",
    "QRS",
    "T",
    "P",
    "QRST",
    "J",
    "heartrate",
]
ARRHYTHMIA_WIDTHS = ["Qwave", "Rwave", "Swave", "RPwave", "SPwave", "intrinsicReflecttions"]
ARRHYTHMIA_EXISTS = [
    "RRwaveExists",
    "DD_RRwaveExists",
    "RPwaveExists",
    "DD_RPwaveExists",
    "RTwaveExists",
    "DD_RTwaveExists",
]
ARRHYTHMIA_AMPLITUDES = [
    "JJwaveAmp",
    "QwaveAmp",
    "RwaveAmp",
    "SwaveAmp",
    "RPwaveAmp",
    "SPwaveAmp",
    "PwaveAmp",
    "TwaveAmp",
    "QRSA",
    "QRSTA",
]

KDD_COLUMNS = [
    "duration",
    "protocol_type",
    "service",
    "flag",
    "src_bytes",
    "dst_bytes",
    "land",
    "wrong_fragment",
    "urgent",
    "hot",
    "num_failed_logins",
    "logged_in",
    "num_compromised",
    "root_shell",
    "su_attempted",
    "num_root",
    "num_file_creations",
    "num_shells",
    "num_access_files",
    "num_outbound_cmds",
    "is_host_login",
    "is_guest_login",
    "count",
    "srv_count",
    "serror_rate",
    "srv_serror_rate",
    "rerror_rate",
    "srv_rerror_rate",
    "same_srv_rate",
    "diff_srv_rate",
    "srv_diff_host_rate",
    "dst_host_count",
    "dst_host_srv_count",
    "dst_host_same_srv_rate",
    "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate",
    "dst_host_srv_diff_host_rate",
    "dst_host_serror_rate",
    "dst_host_srv_serror_rate",
    "dst_host_rerror_rate",
    "dst_host_srv_rerror_rate",
]
KDD_SYMBOLIC = ["protocol_type", "service", "flag", "land", "logged_in", "is_host_login", "is_guest_login"]

THYROID_COLUMNS = [
    "age",
    "sex",
    "on_thyroxine",
    "query_on_thyroxine",
    "on_antithyroid_medication",
    "sick",
    "pregnant",
    "thyroid_surgery",
    "I131_treatment",
    "query_hypothyroid",
    "query_hyperthyroid",
    "lithium",
    "goitre",
    "tumor",
    "hypopituitary",
    "psych",
    "TSH",
    "T3",
    "TT4",
    "T4U",
    "FTI",
]
THYROID_NUMERIC = ["age", "TSH", "T3", "TT4", "T4U", "FTI"]

PAGEBLOCKS_COLUMNS = [
    "height",
    "length",
    "area",
    "eccen",
    "p_black",
    "p_and",
    "mean_tr",
    "blackpix",
    "blackand",
    "wb_trans",
]
PIMA_COLUMNS = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
CTG_RATES = ["AC", "FM", "UC", "DL", "DS", "DP"]  # counts on the left of LB, the same per second on its right
CTG_OTHERS = [
    "ASTV",
    "MSTV",
    "ALTV",
    "MLTV",
    "Width",
    "Min",
    "Max",
    "Nmax",
    "Nzeros",
    "Mode",
    "Mean",
    "Median",
    "Variance",
    "Tendency",
    "CLASS",
]
CTG_INTEGERS = ["LB", *(name for name in CTG_OTHERS if name not in ("MSTV", "MLTV"))]
PAYSIM_COLUMNS = ["type", "amount", "oldbalanceOrg", "newbalanceOrig", "oldbalanceDest", "newbalanceDest"]


def pima(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "pima-indians-diabetes.csv", header=None, names=[*PIMA_COLUMNS, "class"])
    return _labelled(table, table.pop("class") == 1)


def ionosphere(folder: Path) -> pd.DataFrame:
    names = [f"a{number:02d}" for number in range(1, 35)]
    table = pd.read_csv(folder / "ionosphere.data", header=None, names=[*names, "class"])
    return _labelled(table, table.pop("class") == "b")


def wine(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "winequality-white.csv", sep=";")
    table.columns = table.columns.str.replace(" ", "_")
    return _labelled(table, ~table.pop("quality").isin([5, 6]))


def spambase(folder: Path) -> pd.DataFrame:
    """The names come from spambase.names, where each line is `name: continuous.`"""
    lines = (folder / "spambase.names").read_text(encoding="latin-1").splitlines()
    names = [line.rsplit(":", 1)[0] for line in lines if line.rstrip().endswith("continuous.")]
    table = pd.read_csv(folder / "spambase.data", header=None, names=[*names, "class"])
    return _labelled(table, table.pop("class") == 1)


def pageblocks(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "page-blocks.data", header=None, sep=r"\s+", names=[*PAGEBLOCKS_COLUMNS, "class"])
    return _labelled(table, table.pop("class") != 1)


def thyroid(folder: Path) -> pd.DataFrame:
    """Goldstein's file; outliers are marked `o`, in some copies 1."""
    table = pd.read_csv(folder / "annthyroid-unsupervised-ad.csv", header=None)
    table = table.iloc[:, : len(THYROID_COLUMNS) + 1]
    table.columns = [*THYROID_COLUMNS, "class"]
    marks = table.pop("class").astype(str)
    symbols = [name for name in THYROID_COLUMNS if name not in THYROID_NUMERIC]
    return _labelled(_symbolic(table, symbols), marks.isin(["o", "1"]))


def arrhythmia(folder: Path) -> pd.DataFrame:
    waves = [f"ch{channel}_{name}" for channel in ARRHYTHMIA_CHANNELS for name in ARRHYTHMIA_WIDTHS + ARRHYTHMIA_EXISTS]
    amplitudes = [f"ch{channel}_{name}" for channel in ARRHYTHMIA_CHANNELS for name in ARRHYTHMIA_AMPLITUDES]
    names = [*ARRHYTHMIA_HEAD, *waves, *amplitudes]
    table = pd.read_csv(folder / "arrhythmia.data", header=None, names=[*names, "class"], na_values="?")
    symbols = ["sex", *(name for name in waves if name.endswith("Exists"))]
    classes = table.pop("class")
    return _labelled(_symbolic(table, symbols), classes != 1)


def cardiotocography(folder: Path) -> pd.DataFrame:
    """Sheet "Data" of the workbook; CLASS, the experts' code, is the 22nd feature. Reading .xls needs xlrd."""
    sheet = pd.read_excel(folder / "CTG.xls", sheet_name="Data", header=None)
    head = sheet.index[(sheet == "NSP").any(axis=1)][0]
    names = [str(name) for name in sheet.loc[head]]
    middle = names.index("LB")
    places = [middle, *(names.index(name, middle) for name in [*CTG_RATES, *CTG_OTHERS, "NSP"])]
    table = sheet.loc[head + 1 :].iloc[:, places].dropna().astype(float)
    table.columns = ["LB", *CTG_RATES, *CTG_OTHERS, "NSP"]
    table[CTG_INTEGERS] = table[CTG_INTEGERS].astype(np.int64)
    return _labelled(table.reset_index(drop=True), table["NSP"].to_numpy() != 1).drop(columns="NSP")


def ethereum(folder: Path) -> pd.DataFrame:
    """Texts stay as they are in the file: only empty cells are missing."""
    table = pd.read_csv(folder / "transaction_dataset.csv", keep_default_na=False, na_values=[""])
    table.columns = table.columns.str.strip()
    table = table.drop(columns=[name for name in table if name.startswith("Unnamed") or name in ("Index", "Address")])
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    flags = table.pop("FLAG")
    return _labelled(_symbolic(table, texts), flags == 1)


def bank(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "bank-full.csv", sep=";")
    is_anomaly = table.pop("y") == "yes"
    return _labelled(_symbolic(table, [name for name in table if table[name].dtype.kind not in "if"]), is_anomaly)


def dos(folder: Path) -> pd.DataFrame:
    """Of the file of 82,332 rows only, as in the results; with both files it is the paper's table of 109,353 rows."""
    return _unsw([folder / "UNSW_NB15_training-set.csv"], "DoS")


def backdoor(folder: Path) -> pd.DataFrame:
    """Original values of the paper's 95,329 rows; the results here are on a rounded copy of them."""
    return _unsw([folder / "UNSW_NB15_training-set.csv", folder / "UNSW_NB15_testing-set.csv"], "Backdoor")


def kdd(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "kddcup.data_10_percent.gz", header=None, names=[*KDD_COLUMNS, "class"])
    classes = table.pop("class")
    return _labelled(_symbolic(table, KDD_SYMBOLIC), classes == "normal.")


def fraud(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "creditcard.csv")
    is_anomaly = table.pop("Class").astype(int) == 1
    rounded = {f"V{number}": np.float32 for number in range(1, 29)}
    return _labelled(table.astype({"Time": np.int32, "Amount": np.float64, **rounded}), is_anomaly)


def online_fraud_50k(folder: Path) -> pd.DataFrame:
    table = pd.read_csv(folder / "fraud_sample.csv")
    return _labelled(_symbolic(table[PAYSIM_COLUMNS].copy(), ["type"]), table["isFraud"] == 1)


def online_fraud(folder: Path) -> pd.DataFrame:
    """The sample of 50,000 and 30,000 rows (42 frauds) of the second one that are not in it, drawn with seed 0."""
    first, second = pd.read_csv(folder / "fraud_sample.csv"), pd.read_csv(folder / "paysim_sample.csv")
    keys = ["step", "nameOrig", "nameDest", "amount"]
    known = pd.MultiIndex.from_frame(first[keys])
    second = second[~pd.MultiIndex.from_frame(second[keys]).isin(known)]
    more = [
        second[second["isFraud"] == label].sample(size, random_state=0) for label, size in ((1, 42), (0, 30_000 - 42))
    ]
    table = pd.concat([first, *more], ignore_index=True)
    return _labelled(_symbolic(table[PAYSIM_COLUMNS].copy(), ["type"]), table["isFraud"] == 1)


def _unsw(files: Iterable[Path], attack: str) -> pd.DataFrame:
    table = pd.concat([pd.read_csv(file, encoding="utf-8-sig") for file in files], ignore_index=True)
    kinds = table.pop("attack_cat").str.strip()
    table = table.drop(columns=["id", "label"])
    is_wanted = kinds.isin(["Normal", attack])
    table = table[is_wanted].reset_index(drop=True)
    return _labelled(_symbolic(table, ["proto", "service", "state"]), (kinds[is_wanted] == attack).to_numpy())


def _symbolic(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """These columns as categories of strings; whole numbers without a decimal point."""
    columns = {}
    for name in names:
        values = table[name].astype("Int64") if table[name].dtype.kind == "f" else table[name]
        columns[name] = values.astype("string").astype(object).where(values.notna(), None).astype("category")
    return table.assign(**columns)


def _labelled(table: pd.DataFrame, is_anomaly: pd.Series | np.ndarray) -> pd.DataFrame:
    return table.copy().assign(label=np.asarray(is_anomaly).astype(np.int8))  # the copy joins what lies in pieces
