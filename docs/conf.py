"""How Sphinx builds the site: ``pip install -e ".[docs]" && sphinx-build -W docs site``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

import fairlp  # noqa: E402

project = "fairlp"
author = "the authors of fairlp"
copyright = author
version = release = fairlp.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "generated",
    "mathml",
]
exclude_patterns = ["site/*", "**/.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
# notebooks are executed by the tests; the site shows what they store
nb_execution_mode = "off"
nb_merge_streams = True

autosummary_generate = True
autosummary_imported_members = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
templates_path = ["site/templates"]
# every reference to a name resolves, but for types in words ("Series", "optional"), bases that are not
# public, and errors without a page
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", ".*"),
    ("py:obj", r"fairlp\.registry\.T"),
    ("py:exc", "NoProgressError|ReportNotAvailableError"),
]

html_theme = "furo"
pygments_dark_style = "github-dark"
html_math_renderer = "mathml"
html_title = f"fairlp {version}"
html_static_path = ["site/static"]
html_css_files = ["fairlp.css"]
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7fb8de", "color-brand-content": "#7fb8de"},
}
# `sphinx-build -b linkcheck docs build/links` asks every address outside; it needs a network
# (packaging/RELEASE.md)
linkcheck_timeout = 30
linkcheck_retries = 2
linkcheck_anchors = False
linkcheck_allowed_redirects = {r"https://doi\.org/.*": r"https?://.*"}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
# ref.python: an attribute may have the name of others, of other classes (`objective`)
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure", "ref.python"]
