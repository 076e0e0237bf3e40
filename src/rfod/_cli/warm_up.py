"""`rfod warm-up`: compile ahead of the first use."""

from __future__ import annotations

from rfod._cli import options


def warm_up(*, quiet: options.Quiet = False) -> None:
    """Compile the kernels now, for container images and CI caches; later runs load them from the cache.

    The cache is beside the installed package, or in the folder that NUMBA_CACHE_DIR names.

    Example: rfod warm-up
    """
    from rfod._cli.console import Voice
    from rfod._run.progress import compile_ahead

    voice = Voice(quiet)
    with voice.stage("compiling"), voice.remarks():
        compile_ahead(voice.draws)
    voice.say(f"kernels are ready. {voice.times()}.")
