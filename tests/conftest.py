"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# The first example may compile kernels, so a deadline would measure the compiler. A failure must repeat everywhere.
settings.register_profile(
    "rfod", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("rfod")
