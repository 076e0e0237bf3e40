"""How methods compare over datasets: average ranks, and one against one."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

MARGIN = 0.1


def ranks(values: pd.DataFrame, lower_is_better: bool = False) -> pd.DataFrame:
    """Datasets by methods, 1 is best; equal values share their mean rank; a method without a value has no rank."""
    return values.rank(axis=1, ascending=lower_is_better)


def average_ranks(values: pd.DataFrame, lower_is_better: bool = False) -> pd.Series:
    return ranks(values, lower_is_better).mean()


@dataclass(frozen=True)
class Duel:
    """One method against another, over the datasets that both have."""

    n_datasets: int
    average_difference: float
    share_ahead: float
    share_ahead_by_margin: float


def duel(own: pd.Series, other: pd.Series) -> Duel:
    """`own` minus `other` on average; share of datasets where it is higher, and where it is higher by a tenth of it."""
    both = pd.concat([own, other], axis=1, keys=["own", "other"]).dropna()
    return Duel(
        n_datasets=len(both),
        average_difference=float((both["own"] - both["other"]).mean()),
        share_ahead=float((both["own"] > both["other"]).mean()),
        share_ahead_by_margin=float((both["own"] >= (1 + MARGIN) * both["other"]).mean()),
    )
