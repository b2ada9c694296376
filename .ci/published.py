"""Check what would be published: WHEEL, WHEEL-OF-SDIST, SDIST; and that the tests ran on what the wheel holds.

COMMITTED lists the files of the commit, a path per line. The sdist must hold those and no others: a corpus or an
environment that was packed by mistake is named, however small it is. The size of the whole grows with the sources, so
it is bounded per file: that finds a corpus that was committed.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if path.is_file()}
DATA = {"any2vec/data/presidents.txt.xz", "any2vec/py.typed"}
NOT_OURS = ("__pycache__", ".nbi", ".nbc", ".pyc", ".venv", ".cache", ".egg-info")
NOT_PACKED = (".ci/", ".pre-commit-config.yaml")  # for those who change the library, in its repository
ADDED = {"PKG-INFO"}
LARGE = {"src/any2vec/data/presidents.txt.xz"}
MOST = 128 << 10  # bytes of any other: a source, a page or a picture


def check(holds, what):
    if not holds:
        sys.exit(f"published.py: {what}")


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def main(wheel, again, sdist, committed):
    files = contents(wheel)
    modules = {name for name in files if ".dist-info/" not in name}
    sources = {name for name in SOURCES if not any(part in name for part in NOT_OURS)}
    check(modules == sources, f"the wheel and src/ differ in {sorted(modules ^ sources)}")
    check(modules >= DATA, f"the wheel lacks {sorted(DATA - modules)}")
    check(any(name.endswith("/LICENSE") for name in files), "the wheel lacks the license")
    check(contents(again) == files, "the sdist does not build the same wheel")
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2]: member.size for member in archive.getmembers()}
    names = {name for name in Path(committed).read_text("utf-8").splitlines() if not name.startswith(NOT_PACKED)}
    differ = sorted(packed.keys() ^ (names | ADDED))
    check(not differ, f"the sdist and the commit differ in {differ[:9]}")
    large = sorted(name for name, size in packed.items() if size > MOST and name not in LARGE)
    check(not large, f"the sdist holds {large}, of more than {MOST:,} bytes")
    command = [sys.executable, "-P", "-c", "import any2vec; print(any2vec.__path__[0])"]
    installed = Path(subprocess.check_output(command, text=True).strip())
    check(ROOT / "src" not in installed.parents, f"the tests ran on {installed}, not on a wheel")
    for name in sorted(modules):
        check(
            (installed.parent / name).read_bytes() == files[name], f"{installed.parent / name} is not that of the wheel"
        )
    print(f"{len(modules)} files in the wheel, as in src/, in the wheel of the sdist, and in {installed}")


main(*sys.argv[1:])
