import os, sys, pytest
from pathlib import Path
from hypothesis import given, settings, HealthCheck, Phase, target
from tests.oracle.fleets import plans, scrape
from tests.oracle.ledger import ledger
from tests.oracle.evidence import Unsettled
from tests.oracle.comparison import *
import random
pytestmark = pytest.mark.django_db(transaction=True)
N=int(os.environ.get("N","30"))
@pytest.mark.timeout(3000)
def test_it(tmp_path):
    @settings(max_examples=N, deadline=None, suppress_health_check=list(HealthCheck), database=None, report_multiple_bugs=False)
    @given(plans())
    def f(plan):
        s = scrape(plan)
        if not s: return
        try: book = ledger(s)
        except Unsettled: return
        clear()
        imported([write(s, tmp_path/"a.om")])
        d = differences(book, with_flags=bool(os.environ.get("FLAGS")))
        assert not d, "\n".join(d[:12])
    f()
