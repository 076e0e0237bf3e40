"""A table of parcel and freight shipments, with a few wrong cells.

    python examples/make_shipments.py --output shipments.csv --truth planted.csv --slips 3

The columns depend on each other as they do in a forwarder's books: the price follows weight, distance and service,
customs papers go with lanes that leave the customs union, the carrier follows service and country. Eight planted values
are ordinary for their column: no minimum, maximum or list of allowed values would find them. Slips of the keyboard and
of units are added with `--slips N`, N of each kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator

# fmt: off
# Road kilometres from the four warehouses to the cities they deliver to.
DISTANCES = {
    "HAM": {"BER": 289, "MUC": 791, "PAR": 904, "LYO": 1164, "ZRH": 871, "LON": 937, "MIL": 1141, "WAW": 858,
            "OSL": 1068},
    "LYO": {"BER": 1239, "MUC": 726, "PAR": 466, "MAD": 1236, "ZRH": 428, "LON": 922, "MIL": 448, "WAW": 1673,
            "OSL": 2035},
    "MIL": {"BER": 1038, "MUC": 493, "PAR": 851, "LYO": 451, "MAD": 1577, "ZRH": 279, "LON": 1243, "ROM": 575,
            "WAW": 1517},
    "WAW": {"BER": 573, "MUC": 988, "PAR": 1597, "LYO": 1678, "ZRH": 1296, "LON": 1632, "MIL": 1521, "KRK": 294,
            "OSL": 1786},
}
COUNTRIES = {
    "BER": "DE", "HAM": "DE", "MUC": "DE", "LYO": "FR", "PAR": "FR", "MIL": "IT", "ROM": "IT", "KRK": "PL",
    "WAW": "PL", "MAD": "ES", "LON": "GB", "OSL": "NO", "ZRH": "CH",
}
# fmt: on
OUTSIDE_CUSTOMS_UNION = {"GB", "NO", "CH"}

# Litres per kilogram, euros per kilogram, usual packaging, share of all shipments.
GOODS = {
    "books": (1.6, 9.0, "carton", 0.22),
    "machine parts": (0.7, 24.0, "crate", 0.26),
    "textiles": (4.5, 38.0, "bale", 0.28),
    "furniture": (7.5, 14.0, "wrap", 0.24),
}
PARCEL_CARRIERS = {"DE": "Elbkurier", "FR": "Rapide Colis", "IT": "Presto", "PL": "Wisla Express"}
FREIGHT_CARRIERS = {"DE": "Nordfracht", "FR": "Transalpes", "IT": "Transalpes", "PL": "Nordfracht"}

PRICE_PER_KM = {"standard": 0.009, "express": 0.022, "freight": 0.10}
KM_PER_DAY = {"standard": 330, "express": 900, "freight": 420}


class Planted(NamedTuple):
    """One wrong cell: where it is put, what is put there, and why it is wrong."""

    column: str
    fits: Callable[[pd.DataFrame], pd.Series]
    value: object
    why: str


PLANTED = (
    Planted(
        "price_eur",
        lambda rows: (rows.service == "freight") & (rows.weight_kg > 600) & (rows.distance_km > 1200),
        41.3,
        "the price of a parcel, for a lorry load across Europe",
    ),
    Planted(
        "customs",
        lambda rows: (rows.origin == "HAM") & (rows.destination == "MUC"),
        True,
        "customs papers for a shipment inside one country",
    ),
    Planted(
        "transit_days",
        lambda rows: (rows.service == "standard") & (rows.distance_km > 1600),
        1,
        "one day by standard service over more than 1,600 km",
    ),
    Planted(
        "carrier",
        lambda rows: (rows.service == "express") & (rows.origin == "MIL"),
        "Wisla Express",
        "a carrier that collects in Poland only, for a parcel from Milan",
    ),
    Planted(
        "volume_l",
        lambda rows: (rows.goods == "furniture") & (rows.weight_kg > 450) & (rows.pallets >= 3),
        62.0,
        "several pallets of furniture in the volume of a suitcase",
    ),
    Planted(
        "destination",
        lambda rows: (rows.origin == "MIL") & (rows.destination == "ZRH"),
        "WAW",
        "the distance, the price and the customs papers are those of the way to Zurich",
    ),
    Planted(
        "pallets",
        lambda rows: (rows.service == "standard") & (rows.weight_kg < 15),
        5,
        "five pallets for one light parcel",
    ),
    Planted(
        "insured_value_eur",
        lambda rows: (rows.goods == "books") & (rows.weight_kg < 12),
        21_400.0,
        "the value of a load of textiles, for a few kilograms of books",
    ),
)


class Slip(NamedTuple):
    """A way in which a cell gets wrong when a table is typed or exported."""

    column: str
    change: Callable[[Any, Generator], object]
    why: str


def _typo(text: str, rng: Generator) -> str:
    """Two letters in the wrong order, one doubled or one left out."""
    at = int(rng.integers(1, len(text) - 1))
    while text[at] == text[at + 1] or " " in text[at : at + 2]:
        at = int(rng.integers(1, len(text) - 1))
    swapped, doubled = text[:at] + text[at + 1] + text[at] + text[at + 2 :], text[:at] + text[at] + text[at:]
    return str(rng.choice([swapped, doubled, text[:at] + text[at + 1 :]]))


SLIPS = (
    Slip("goods", _typo, "misspelt"),
    Slip("carrier", _typo, "misspelt"),
    Slip("packaging", lambda text, rng: text.upper(), "in capitals"),
    Slip("destination", lambda text, rng: text.lower(), "in small letters"),
    Slip("weight_kg", lambda value, rng: round(value * 1000, 1), "grams, not kilograms"),
    Slip("price_eur", lambda value, rng: round(value * 100, 2), "cents, not euros"),
    Slip("distance_km", lambda value, rng: -value, "a sign too many"),
    Slip("shipped_at", lambda time, rng: time + pd.DateOffset(years=10), "a wrong digit in the year"),
)


def make_shipments(
    n_rows: int = 4000, n_clean: int = 3000, seed: int = 0, n_slips: int = 0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, and the cells that were made wrong in it, all of them after the first `n_clean` rows."""
    rng = np.random.default_rng(seed)
    table = _correct_rows(n_rows, rng)
    _leave_gaps(table, rng)
    truth = _plant(table, n_clean, rng)
    return table, pd.DataFrame([*truth, *_slip(table, n_clean, n_slips, [cell["row"] for cell in truth], rng)])


def _correct_rows(n_rows: int, rng: Generator) -> pd.DataFrame:
    """Shipments in which every column agrees with the others."""
    lanes = [(origin, destination) for origin, row in DISTANCES.items() for destination in row]
    origin, destination = np.array(lanes)[rng.integers(len(lanes), size=n_rows)].T
    country = np.array([COUNTRIES[city] for city in origin])
    abroad = np.array([COUNTRIES[city] in OUTSIDE_CUSTOMS_UNION for city in destination])
    distance = np.array([DISTANCES[a][b] for a, b in zip(origin, destination, strict=True)])

    goods = rng.choice(list(GOODS), size=n_rows, p=[share for *_, share in GOODS.values()])
    litres_per_kg, euros_per_kg = np.array([GOODS[name][:2] for name in goods]).T
    usual_packaging = np.array([GOODS[name][2] for name in goods])
    packaging = np.where(rng.random(n_rows) < 0.98, usual_packaging, "carton")
    is_freight = rng.random(n_rows) < 0.4
    freight_weight = rng.lognormal(6.1, 0.5, n_rows).clip(150, 1800)
    parcel_weight = rng.lognormal(2.4, 0.7, n_rows).clip(1, 60)
    weight = np.where(is_freight, freight_weight, parcel_weight)
    volume = weight * litres_per_kg * rng.normal(1, 0.06, n_rows)
    service = np.where(is_freight, "freight", np.where(rng.random(n_rows) < 0.4, "express", "standard"))
    pallets = np.where(is_freight, np.ceil(np.maximum(volume / 900, weight / 400)), 0)

    km_per_day = np.array([KM_PER_DAY[name] for name in service])
    transit = np.ceil(distance / km_per_day) + abroad
    per_km = np.array([PRICE_PER_KM[name] for name in service])
    price = 6 + per_km * distance + weight * distance * np.where(is_freight, 0.00045, 0.0007) + 35 * abroad
    price *= rng.normal(1, 0.03, n_rows)
    insured = weight * euros_per_kg * rng.normal(1, 0.08, n_rows)
    parcel_carrier = np.array([PARCEL_CARRIERS[code] for code in country])
    freight_carrier = np.array([FREIGHT_CARRIERS[code] for code in country])

    booked = pd.Timestamp("2025-01-07") + pd.to_timedelta(rng.integers(330 * 24 * 60, size=n_rows), unit="min")
    shipped = booked + pd.to_timedelta(rng.integers(4 * 60, 50 * 60, size=n_rows), unit="min")
    return pd.DataFrame(
        {
            "shipment_id": [f"S{number:06d}" for number in rng.permutation(900_000)[:n_rows] + 100_000],
            "booked_at": booked.as_unit("s"),
            "shipped_at": shipped.as_unit("s"),
            "origin": origin,
            "destination": destination,
            "distance_km": distance,
            "goods": goods,
            "packaging": packaging,
            "service": service,
            "weight_kg": weight.round(1),
            "volume_l": volume.round(),
            "pallets": pallets.astype(int),
            "transit_days": pd.array(transit.astype(int), dtype="Int64"),
            "customs": abroad,
            "carrier": pd.Series(np.where(is_freight, freight_carrier, parcel_carrier), dtype=object),
            "price_eur": price.round(2),
            "insured_value_eur": insured.round(-1),
        }
    )


def _leave_gaps(table: pd.DataFrame, rng: Generator) -> None:
    """Not measured, still on the way, not noted, not insured."""
    for column, share in {"volume_l": 0.03, "transit_days": 0.02, "carrier": 0.01, "insured_value_eur": 0.12}.items():
        table.loc[rng.random(len(table)) < share, column] = None


def _plant(table: pd.DataFrame, n_clean: int, rng: Generator) -> list[dict[str, Any]]:
    """Make one cell wrong in each of a few rows after the first `n_clean`; returns what was done."""
    truth: list[dict[str, Any]] = []
    for column, fits, value, why in PLANTED:
        candidates = table.index[fits(table) & table[column].notna() & (table.index >= n_clean)]
        row = rng.choice(candidates.difference([line["row"] for line in truth]))
        correct = table.at[row, column]
        table.at[row, column] = value
        truth.append({"row": row, "column": column, "correct": correct, "planted": table.at[row, column], "why": why})
    return truth


def _slip(table: pd.DataFrame, n_clean: int, n_slips: int, taken: list[int], rng: Generator) -> list[dict[str, Any]]:
    """`n_slips` cells of each kind, in rows that have no other wrong cell; returns what was done."""
    truth: list[dict[str, Any]] = []
    free = table.index[(table.index >= n_clean) & ~table.index.isin(taken)]
    for slip in SLIPS:
        for row in rng.choice(free[table.loc[free, slip.column].notna()], n_slips, replace=False):
            correct = table.at[row, slip.column]
            table.at[row, slip.column] = slip.change(correct, rng)
            planted = table.at[row, slip.column]
            truth.append({"row": row, "column": slip.column, "correct": correct, "planted": planted, "why": slip.why})
            free = free.drop(row)
    return truth


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a table of shipments with a few wrong cells.")
    parser.add_argument("--output", type=Path, required=True, help="where the table goes (CSV)")
    parser.add_argument("--truth", type=Path, help="where the list of planted cells goes (CSV)")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--clean", type=int, default=3000, help="so many first rows stay without errors")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--slips", type=int, default=0, help="so many slips of each kind beside the eight planted cells"
    )
    arguments = parser.parse_args()
    table, truth = make_shipments(arguments.rows, arguments.clean, arguments.seed, arguments.slips)
    table.to_csv(arguments.output, index=False)
    if arguments.truth:
        truth.to_csv(arguments.truth, index=False)


if __name__ == "__main__":
    main()
