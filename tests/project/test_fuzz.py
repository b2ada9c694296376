"""Damaged files of every format, a few: `benchmarks/fuzz_formats.py` has many."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from marks import slow

READERS = (
    "index log npz mat parquet-edges parquet-text kinds features labels labels-mat phrases checkpoint word2vec-binary "
    "word2vec-text word2vec-gzip glove edges csv adjacency mtx vocabulary questions pairs cache"
)
"""All but those for which several models would be trained."""

FUZZ = Path(__file__).parents[2] / "benchmarks" / "fuzz_formats.py"


def run(command, folder):
    variables = os.environ | {"COLUMNS": "150"}
    ran = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="bounding memory needs Linux")
@pytest.mark.parametrize("readers", [["checkpoint", "edges", "word2vec-text"], slow(READERS.split())], ids=len)
def test_damaged_files_are_read_or_refused(tmp_path, readers):
    for module in ("faiss", "matplotlib", "pyarrow", "scipy", "yaml"):
        pytest.importorskip(module)
    command = [sys.executable, FUZZ, *readers, "--cases", "60", "--seed", "11", "--folder", tmp_path]
    assert len(re.findall(r"\b60 │.* 0 │$", run(command, tmp_path), re.MULTILINE)) == len(readers)


@pytest.mark.slow
def test_a_damaged_entry_of_the_cache_is_noticed(tmp_path):
    command = [sys.executable, FUZZ.with_name("fuzz_cache.py"), "--cases", "60", "--seeds", "3"]
    assert "0 wrong" in run(command, tmp_path)
