"""A disk without space while a file is read: said as such, and nothing stays behind."""

from pathlib import Path

import pytest

from accounting.sources.openmetrics import FileError, spool

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
