"""Check what would be published: WHEEL, WHEEL-OF-SDIST, SDIST; and that the tests ran on what the wheel holds."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*") if path.is_file()}
DATA = {"any2vec/data/presidents.txt.xz", "any2vec/py.typed"}
NOT_OURS = ("__pycache__", ".nbi", ".nbc", ".pyc", ".venv", ".cache", ".egg-info")
MOST = 2 << 20  # bytes: more than now, and less than a corpus


def check(holds, what):
    if not holds:
        sys.exit(f"published.py: {what}")


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def main(wheel, again, sdist):
    files = contents(wheel)
    modules = {name for name in files if ".dist-info/" not in name}
    sources = {name for name in SOURCES if not any(part in name for part in NOT_OURS)}
    check(modules == sources, f"the wheel and src/ differ in {sorted(modules ^ sources)}")
    check(modules >= DATA, f"the wheel lacks {sorted(DATA - modules)}")
    check(any(name.endswith("/LICENSE") for name in files), "the wheel lacks the license")
    check(contents(again) == files, "the sdist does not build the same wheel")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "tests/conftest.py"}
    check(packed >= needed, f"the sdist lacks {sorted(needed - packed)}")
    strange = sorted(name for name in packed if any(part in name for part in NOT_OURS))
    check(not strange, f"the sdist holds {strange[:3]}")
    for file in (wheel, sdist):
        check(Path(file).stat().st_size < MOST, f"{file} is larger than {MOST:,} bytes")
    command = [sys.executable, "-P", "-c", "import any2vec; print(any2vec.__path__[0])"]
    installed = Path(subprocess.check_output(command, text=True).strip())
    check(ROOT / "src" not in installed.parents, f"the tests ran on {installed}, not on a wheel")
    for name in sorted(modules):
        check(
            (installed.parent / name).read_bytes() == files[name], f"{installed.parent / name} is not that of the wheel"
        )
    print(f"{len(modules)} files in the wheel, as in src/, in the wheel of the sdist, and in {installed}")


main(*sys.argv[1:])
