"""`rfod warm-up`: compile ahead of the first use."""

from __future__ import annotations

from rfod._cli import options


def warm_up(*, quiet: options.Quiet = False) -> None:
    """Compile the kernels now, for container images and CI caches; later runs load them from the cache.

    The cache is beside the installed package, or in the folder that NUMBA_CACHE_DIR names.

    Example: rfod warm-up
    """
    from rfod._cli.console import Reporter
    from rfod._model.executor import compile_ahead

    reporter = Reporter(quiet)
    with reporter.stage("compiling"), reporter.remarks():
        compile_ahead(reporter.draws)
    reporter.say(f"kernels are ready. {reporter.times()}.")
