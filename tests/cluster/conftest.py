"""What tests of hosts that are processes share."""

import pytest
from simulated import text


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A text in the folder of the test, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, text(200, words=30))) + "\n")
    return tmp_path
