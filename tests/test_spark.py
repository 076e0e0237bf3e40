"""`rfod.spark` without Spark; with it: tests/distributed."""

from __future__ import annotations

import pytest

import rfod
import rfod.spark


@pytest.mark.parametrize("call", [lambda: rfod.spark.fit(None), lambda: rfod.spark.score(None, None)])
def test_error_names_the_extra(call, monkeypatch):
    monkeypatch.setattr(rfod.spark, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"rfod\[spark\]"):
        call()
