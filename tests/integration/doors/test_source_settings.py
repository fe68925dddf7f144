"""Settings of sources: what is wrong is said at its line, before anything is asked."""

import pytest

from accounting.actions.configure import read_configuration
from accounting.actions.document import DocumentError

SOURCE = """
clusters:
  - name: north
    sources:
      - kind: prometheus
        url: http://prometheus:9090
        {}
"""


@pytest.mark.parametrize("seconds", ["0.5", "5", "300"])
def test_deadline_is_a_number_of_seconds(seconds: str) -> None:
    [cluster] = read_configuration(SOURCE.format(f"timeout_s: {seconds}")).clusters
    assert cluster.sources[0].settings["timeout_s"] == float(seconds)


@pytest.mark.parametrize("seconds", ["soon", "0", "-1", ".nan", ".inf", "301", "[5]"])
def test_wrong_deadline_is_refused(seconds: str) -> None:
    with pytest.raises(DocumentError, match=r"line 7: 'timeout_s' is a number"):
        read_configuration(SOURCE.format(f"timeout_s: {seconds}"))


@pytest.mark.parametrize("key", ["headers", "matchers", "parameters"])
def test_value_that_is_no_text_is_refused(key: str) -> None:
    with pytest.raises(DocumentError, match=f"line 7: '{key}': the value of 'a'"):
        read_configuration(SOURCE.format(f"{key}: {{a: 5}}"))
    read_configuration(SOURCE.format(f"{key}: {{a: '5'}}"))
