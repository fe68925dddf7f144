"""Settings of sources: what is wrong is said at its line, before anything is asked."""

import pytest

from accounting.setup.tasks.schema import read_configuration
from accounting.setup.tasks.yaml_lines import DocumentError

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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ("soon", "'soon' is not a number"),
        ("0", "must be above 0"),
        ("-1", "must be above 0"),
        (".nan", "is not a number"),
        (".inf", "is not a number"),
        ("301", "must be at most 300"),
        ("[5]", "is not a number"),
        ("yes", "read as True; write a number"),
    ],
)
def test_wrong_deadline_is_refused(seconds: str, words: str) -> None:
    with pytest.raises(DocumentError, match=f"line 7: timeout_s: .*{words}"):
        read_configuration(SOURCE.format(f"timeout_s: {seconds}"))


@pytest.mark.parametrize("key", ["headers", "matchers", "parameters"])
def test_value_that_is_no_text_is_refused(key: str) -> None:
    with pytest.raises(DocumentError, match=f"line 7: {key}.a: must be text"):
        read_configuration(SOURCE.format(f"{key}: {{a: 5}}"))
    read_configuration(SOURCE.format(f"{key}: {{a: '5'}}"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("httpfile:///etc/passwd", "must start with http:// or https://"),
        ("file:///etc/passwd", "must start with http:// or https://"),
        ("http://169.254.169.254/latest", "not allowed as a source"),
        ("http://ana:secret@prometheus:9090", "username and password_file"),
    ],
)
def test_an_address_that_is_no_source_is_refused(url: str, words: str) -> None:
    with pytest.raises(DocumentError, match=f"line 6: url: .*{words}"):
        read_configuration(
            SOURCE.replace("http://prometheus:9090", url).format("timeout_s: 5")
        )
    scraped = f"""
clusters:
  - name: north
    sources:
      - kind: scrape
        targets:
          - job: dcgm
            urls: ["http://10.0.0.7:9400/metrics", "{url}"]
"""
    with pytest.raises(DocumentError, match=f"line 8: .*{words}"):
        read_configuration(scraped)


def test_an_api_server_is_no_metadata_service() -> None:
    access = """
clusters:
  - name: north
    kubernetes:
      reader: {server: "https://169.254.169.254", token_file: /run/reader}
"""
    with pytest.raises(
        DocumentError, match=r"line 5: kubernetes.reader.server: .*not allowed"
    ):
        read_configuration(access)
