"""A disk without space while a file is read: said as such, and nothing stays behind."""

import gzip
from pathlib import Path

import pytest

from accounting.metering.sources.openmetrics import FileError, spool

TEXT = """# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{UUID="GPU-a",Hostname="n1"} 5 1792540800
# EOF
"""


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """`/dev/full` refuses every byte as a full disk does."""
    dump = tmp_path / "dump.om"
    dump.write_text(TEXT)
    folder = tmp_path / "spool"
    folder.mkdir()
    (folder / "1792540800000.rows").symlink_to("/dev/full")
    with pytest.raises(FileError) as caught:
        spool([dump], folder, latest_ms=10**13)
    said = str(caught.value)
    assert said.startswith(f"no space left for temporary files in {tmp_path} (")
    assert "MB free" in said
    assert "nothing was imported" in said
    assert "TMPDIR" in said
    assert not folder.exists()


def test_a_small_file_of_very_many_blank_lines_is_refused(tmp_path: Path) -> None:
    dump = tmp_path / "dump.om.gz"
    dump.write_bytes(gzip.compress(b"\n" * (1 << 20)) * 70)
    (tmp_path / "spool").mkdir()
    with pytest.raises(FileError) as caught:
        spool([dump], tmp_path / "spool", latest_ms=10**13)
    assert str(caught.value) == (
        f"{dump}: more than 64 MiB of blank lines; this is not metrics text"
    )
