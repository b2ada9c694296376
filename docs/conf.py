"""How Sphinx makes the site: ``pip install '.[docs]' && sphinx-build -W docs docs/_build``.

The pages are the Markdown files here, as they are read on a forge, and those of the repository's root, copied at the start.
"""

import re
from pathlib import Path

from any2vec import __version__

HERE = Path(__file__).parent
ROOT = HERE.parent
COPIED = {  # pages of the repository, and their names on the site
    "benchmarks/README.md": "results.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\[([^\]]+)\]\((?!http|#)([^)\s#]+)(#[^)\s]*)?\)")

project = "any2vec"
author = "The any2vec developers"
copyright = author  # noqa: A001
release = version = __version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "README.md", "images/*.py"]
root_doc = "index"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_title = f"any2vec {release}"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True


def link_to_pages(text: str, folder: Path) -> str:
    """Let links of a page in a folder of the repository lead to pages of the site; files that are none are named."""

    def lead(found: re.Match[str]) -> str:
        label, target, anchor = found.groups()
        place = (folder / target).resolve()
        name = COPIED.get(str(place.relative_to(ROOT)))
        if name is None and place.parent.is_relative_to(HERE):
            name = str(place.relative_to(HERE))
        return f"[{label}]({name}{anchor or ''})" if name else label

    return LINK.sub(lead, text)


def copy_pages(_: object) -> None:
    """Copy the pages that are elsewhere in the repository."""
    for source, name in COPIED.items():
        path = ROOT / source
        (HERE / name).write_text(link_to_pages(path.read_text("utf-8"), path.parent), "utf-8")


def setup(app: object) -> None:
    """Prepare pages before they are read."""
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", lambda _, __, content: content.__setitem__(0, link_to_pages(content[0], HERE)))
