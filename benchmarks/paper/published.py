"""The numbers that the text of the paper gives, to stand beside ours."""

from __future__ import annotations

# Table 4: average ranks over 15 datasets and 11 methods, in the order of metrics.METRICS.
AVERAGE_RANKS: dict[str, tuple[float, float, float, float, float]] = {
    "ecod": (7.40, 7.47, 7.00, 6.77, 6.93),
    "lof": (6.00, 6.27, 6.63, 6.50, 4.73),
    "if": (5.13, 5.73, 5.07, 5.53, 5.47),
    "ocsvm": (4.67, 5.00, 4.47, 5.20, 5.20),
    "ot": (7.53, 7.27, 10.30, 8.83, 9.73),
    "deep_svdd": (6.13, 6.00, 7.13, 5.20, 6.40),
    "slad": (5.20, 5.07, 4.77, 6.00, 5.20),
    "devnet": (9.93, 10.07, 8.57, 8.77, 9.60),
    "dif": (6.53, 6.13, 5.40, 5.60, 4.27),
    "icl": (5.67, 5.07, 4.87, 5.27, 5.73),
    "rfod": (1.80, 1.93, 1.80, 2.33, 2.73),
}

# Section 5.4, AUC-ROC on DoS.
DOS_WITH_AGD = 0.96
DOS_WITH_GOWER = 0.41

# Section 5.2, average difference of AUC-ROC.
DIFFERENCES = {"ot": 0.15, "devnet": 0.43}

# Figure 4, one column of page-blocks at alpha 0.05: what the outlier and the normal row score.
AGD_EXAMPLE = {"outlier": {"Gower": 0.30, "IQR-Gower": 4.74, "AGD": 1.34}, "normal": {"AGD": 0.04}}
