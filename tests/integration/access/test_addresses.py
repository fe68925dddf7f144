"""No page address gives a 5xx: random, ancient, far, NUL and foreign parameters, all roles.

`PAGE_ADDRESSES` is how many are asked for (`make soak PAGE_ADDRESSES=10000`), `PAGE_SEED`
repeats a run; both are printed, with each address that fails and who asked for it.
"""

import os
import random
import sys
import time
from collections import Counter

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.integration.access.addresses import draw_address
from tests.integration.access.routes import PEOPLE
from tests.story import Story

ADDRESSES = int(os.environ.get("PAGE_ADDRESSES") or 300)
SEED = int(os.environ.get("PAGE_SEED") or random.randrange(2**31))
TOLD_EVERY_S = 30.0
EXPECTED = {200, 302, 400, 403, 404}  # an address that is opened ends in one of these


@pytest.mark.timeout(max(300, ADDRESSES))
def test_no_address_of_a_page_fails(
    story: Story, db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    del story, db
    chance, seen = random.Random(SEED), Counter[int]()
    people = {name: Client(raise_request_exception=False) for name in ("", *PEOPLE)}
    for name in PEOPLE:
        people[name].force_login(get_user_model().objects.get(username=name))
    wrong, told = [], time.monotonic()
    sys.stdout.write(f"PAGE_SEED={SEED} PAGE_ADDRESSES={ADDRESSES}\n")
    for number in range(ADDRESSES):
        name, address = chance.choice(tuple(people)), draw_address(chance)
        headers = {"HX-Request": "true"} if chance.random() < 0.1 else {}
        answer = people[name].get(address, headers=headers)
        seen[answer.status_code] += 1
        if answer.status_code not in EXPECTED:
            wrong.append(f"{answer.status_code} {name or 'nobody'} {address}")
        if time.monotonic() - told > TOLD_EVERY_S:
            told = time.monotonic()
            with capsys.disabled():
                sys.stdout.write(f"{number + 1:,} of {ADDRESSES:,}: {dict(seen)}\n")
    with capsys.disabled():
        sys.stdout.write(f"{ADDRESSES:,} addresses, seed {SEED}: {dict(seen)}\n")
    assert wrong == []
    assert seen[200] > ADDRESSES / 10  # or the pages were not reached
