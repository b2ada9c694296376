"""Running Python as a user without privileges: root, as which tests run in containers, may write everywhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import any2vec

VICTIM, ATTACKER = 65534, 65533  # user ids without a name, or nobody's

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
READS_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # interpreters may lie in root's home


def run_python(*arguments, user=VICTIM, folder, **environment):
    """Run Python in a folder with these variables and no others, as this user if we are root; return what it did."""
    base = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(any2vec.__file__).parent.parent)}
    return subprocess.run(
        [*(_as(user) if ROOT else []), sys.executable, *map(str, arguments)],
        env=base | {name: str(value) for name, value in environment.items()},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def _as(user):
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *READS_ALL]


def _can_change_user():
    if not ROOT or not shutil.which("setpriv"):
        return False
    return subprocess.run([*_as(VICTIM), sys.executable, "-c", ""], check=False, capture_output=True).returncode == 0


CHANGES_USER = _can_change_user()

needs_root = pytest.mark.skipif(not CHANGES_USER, reason="needs root, and setpriv of util-linux")
needs_user = pytest.mark.skipif(os.name == "nt" or (ROOT and not CHANGES_USER), reason="needs another user")
