"""Which executor a name stands for; with Ray: tests/distributed."""

from __future__ import annotations

import pytest

from rfod._engine import ray_executor
from rfod._engine.engines import open_engine
from rfod._model.executor import Threads
from rfod.exceptions import EngineError


def test_local_and_own_executors() -> None:
    with open_engine("local", 2) as executor:
        assert isinstance(executor, Threads)
        assert executor.n_workers == 2
    own = Threads(1)
    with open_engine(own) as executor:
        assert executor is own


@pytest.mark.parametrize("name", ["ray", "ray://127.0.0.1:10001", "127.0.0.1:6379"])
def test_error_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"rfod\[ray\]"), open_engine(name):
        pass
