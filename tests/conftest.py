"""For all tests: what Hypothesis may take."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples on every machine, and no time limit for one: machines that run several jobs are slow at times.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
