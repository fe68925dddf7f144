"""The product's clock with a sweep every two seconds: what a test of sweeps waits for.

Celery's `--app` of such a test. All else is the clock that the product runs.
"""

from portal.beat import app

app.conf.beat_schedule["sweep"]["schedule"] = 2.0
