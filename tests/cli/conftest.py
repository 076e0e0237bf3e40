"""A table of orders with one wrong price, a model of it, and the program."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from rfod._cli.app import main

N_ROWS, WRONG = 400, 123


@dataclass(frozen=True)
class Ran:
    """What the program did."""

    code: int
    out: str
    err: str


Rfod = Callable[..., Ran]


@pytest.fixture
def rfod(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Rfod]:
    """Run the program in this process."""
    before = signal.getsignal(signal.SIGTERM)

    def run(*arguments: object, width: int = 80) -> Ran:
        monkeypatch.setattr(sys, "argv", ["rfod", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(width))
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            main()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Ran(int(caught.value.code or 0), out, err)

    yield run
    signal.signal(signal.SIGTERM, before)


def orders(n: int = N_ROWS, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    weight, express = rng.uniform(1, 30, n).round(1), rng.random(n) < 0.4
    price = (weight * np.where(express, 9.0, 4.0)).round(2)
    days = np.where(express, 1, 3) + (weight > 20)
    if n > WRONG:
        price[WRONG] = price[WRONG] + 400
    return pa.table(
        {
            "order_id": [f"A{number:05d}" for number in range(n)],
            "weight": weight,
            "service": np.where(express, "express", "standard"),
            "price": price,
            "days": days,
        }
    )


@pytest.fixture(scope="session")
def orders_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("orders") / "orders.csv"
    pyarrow.csv.write_csv(orders(), path)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from rfod import RFOD

    path = tmp_path_factory.mktemp("model") / "orders.rfod"
    table = orders(3000, seed=1)
    RFOD(n_estimators=10, random_state=0, column_types={"order_id": "identifier"}, n_jobs=1).fit(table).save(path)
    return path


MISSPELT = (7, 90, 200, 300)
NO_NUMBERS = (15, 33, 61, 140, 222, 301, 333, 350)
BROKEN = (121, 261)


def dirty_orders() -> pa.Table:
    """Orders with cities that are misspelt or in a wrong encoding, and weights that are no numbers."""
    table = orders()
    city = ["Hamburg" if service == "express" else "Wien" for service in table["service"].to_pylist()]
    weight = [str(value) for value in table["weight"].to_pylist()]
    for row in MISSPELT:
        city[row] = city[row].replace("n", "x").replace("m", "x")
    for row in NO_NUMBERS:
        weight[row] = weight[row].replace(".", "x")
    for row in BROKEN:
        city[row] = city[row].replace("e", "Ã©").replace("u", "Ã¼")
    table = table.set_column(table.column_names.index("weight"), "weight", pa.array(weight))
    return table.append_column("city", pa.array(city))


@pytest.fixture(scope="session")
def dirty_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dirty") / "dirty.csv"
    pyarrow.csv.write_csv(dirty_orders(), path)
    return path
