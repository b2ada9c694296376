"""How Sphinx makes the site: ``pip install '.[docs]' && sphinx-build -W docs docs/_build``.

The pages are the Markdown files here, as they are read on a forge, and those of the repository's root, copied at the
start. The tutorials run while the site is built.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
from functools import partialmethod
from pathlib import Path

from nbclient import NotebookClient

from any2vec import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from commands import commands  # noqa: E402

ROOT = HERE.parent
COPIED = {  # pages of the repository, and their names on the site
    "benchmarks/README.md": "results.md",
    "ARCHITECTURE.md": "how-it-works/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
PARTS = {"results.md": "\n```{toctree}\n:hidden:\n\nresults/papers\n```\n"}  # pages below them, on the site
LINK = re.compile(r"\[([^\]]+)\]\((?!http|#|/)([^)\s#]+)(#[^)\s]*)?\)")

INTERNAL = {  # of estimators: what only training reads
    *("another_corpus_begins_anew", "centres", "columns_refuse", "display", "initial_alpha", "kind", "learned"),
    *("negatives", "operator_class", "operator_name", "pools", "training_options", "without_fit"),
}

project = "any2vec"
author = "The any2vec developers"
copyright = author  # noqa: A001
release = version = __version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "jupyter_execute", "README.md", "images/*.py"]
root_doc = "index"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Tutorials run in a folder of their own, with the commands of this Python, and their errors end the build.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
os.environ["TTY_COMPATIBLE"] = "0"  # no moving lines in pages
kernel = Path(tempfile.mkdtemp(prefix="any2vec-docs-"))  # settings of the tutorials' Python: figures are shown
atexit.register(shutil.rmtree, kernel, ignore_errors=True)
(kernel / "profile_default").mkdir()
(kernel / "profile_default" / "ipython_kernel_config.py").write_text("c.InteractiveShellApp.matplotlib = 'inline'\n")
os.environ["IPYTHONDIR"] = str(kernel)
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
# What a cell prints is one text, wherever it was cut on its way; myst-nb would end a line at each cut.
NotebookClient.__init__ = partialmethod(NotebookClient.__init__, coalesce_streams=True)

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_title = f"any2vec {release}"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}
html_show_search_summary = False  # a browser fetches no page from a folder
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True


def link_to_pages(text: str, folder: Path) -> str:
    """Let links of a page in a folder of the repository lead to pages of the site; files that are none are named."""

    def lead(found: re.Match[str]) -> str:
        label, target, anchor = found.groups()
        place = (folder / target).resolve()
        if found.string[found.start() - 1 : found.start()] == "!" or not place.is_relative_to(ROOT):
            return found.group()
        name = COPIED.get(str(place.relative_to(ROOT)))
        if name is None and place.is_relative_to(HERE):
            name = str(place.relative_to(HERE))
        if name == "README.md":  # the list of pages for readers of the repository
            name = "index.md"
        return f"[{label}](/{name}{anchor or ''})" if name else label

    return LINK.sub(lead, text)


def make_pages(_: object) -> None:
    """Copy the pages that are elsewhere in the repository, and list the commands."""
    (HERE / "reference" / "commands.md").write_text(commands(), "utf-8")
    for source, name in COPIED.items():
        path = ROOT / source
        text = link_to_pages(path.read_text("utf-8"), path.parent)
        (HERE / name).write_text(text + PARTS.get(name, ""), "utf-8")


def link_page(_: object, name: str, content: list[str]) -> None:
    """Let a page's links lead to pages."""
    content[0] = link_to_pages(content[0], (HERE / name).parent)


def signature_of(_: object, what: str, __: str, found: object, *___: object) -> tuple[str, None] | None:
    """Leave out the signature of classes whose parameters are listed below it: Sphinx would show that of `__new__`."""
    return ("", None) if what == "class" and hasattr(found, "get_params") else None


def is_left_out(_: object, __: str, name: str, *___: object) -> bool | None:
    """Leave out what only training reads of an estimator."""
    return True if name in INTERNAL else None


def setup(app: object) -> None:
    """Prepare pages before they are read."""
    app.connect("builder-inited", make_pages)
    app.connect("source-read", link_page)
    app.connect("autodoc-process-signature", signature_of)
    app.connect("autodoc-skip-member", is_left_out)
