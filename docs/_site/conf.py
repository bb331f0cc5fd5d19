"""How Sphinx builds the site from the tree that `build.py` has laid out."""

from __future__ import annotations

import os
import re
from html import escape
from importlib.metadata import version as _version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import public
from docutils import nodes
from sphinx.ext.napoleon import Config, GoogleDocstring

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

HERE = Path(__file__).parent
CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
NAPOLEON = Config(napoleon_use_rtype=False)

project = "pytest-ltm"
author = "the pytest-ltm developers"
project_copyright = author
version = release = _version("pytest-ltm")
root_doc = "docs/index"
exclude_patterns = ["docs/changes/+*"]  # parts of the changelog to come
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx"]
nitpicky = True
myst_heading_anchors = 6  # as GitHub makes them
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
python_maximum_signature_line_length = 88

# Written by hand, with the few names that our signatures mention: the site is built
# without a network.
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", str(HERE / "inventories" / "python.inv")),
    "pytest": (
        "https://docs.pytest.org/en/stable/",
        str(HERE / "inventories" / "pytest.inv"),
    ),
    "msgspec": ("https://msgspec.dev/", str(HERE / "inventories" / "msgspec.inv")),
}

html_theme = "furo"
html_title = f"pytest-ltm {release}"
html_baseurl = os.environ.get("DOCS_URL", "")
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = ["versions.js"]
html_sourcelink_suffix = ""
html_copy_source = True
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def _resolved(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Find what an annotation means: it has the short name, or that of the private module where the class lives."""
    if node.get("refdomain") != "py":
        return None
    last = node["reftarget"].rpartition(".")[2]
    python = env.get_domain("py")
    if home := public.homes().get(last):
        return python.resolve_xref(
            env, node["refdoc"], app.builder, "obj", f"{home}.{last}", node, content
        )
    for names in env.intersphinx_inventory.values():
        for full, item in names.items():
            if full.rpartition(".")[2] == last:
                return nodes.reference("", "", content, internal=False, refuri=item.uri)
    return content if last in public.private_names() else None


def _sections(
    app: Sphinx,
    what: str,
    name: str,
    thing: object,
    options: object,  # noqa: ARG001
    lines: list[str],
) -> None:
    """Turn Args, Returns and Raises into fields, and what is code in Markdown into code.

    An attribute's text has no such sections: its colon does not end a type.
    """
    lines[:] = [CODE.sub(r"``\1``\\ ", line) for line in lines]
    if what not in {"attribute", "property", "data"}:
        lines[:] = GoogleDocstring(lines, NAPOLEON, app, what, name, thing).lines()


def _signature(*about: Any) -> tuple[str | None, str | None]:
    """Show a default that no expression writes, such as a dataclass's factory, as an ellipsis; a protocol has none."""
    _, _, _, thing, _, signature, returns = about
    if getattr(thing, "_is_protocol", False):
        return "", returns
    return signature and re.sub(r"= ?<[^<>]*>", "= ...", signature), returns


def _card(
    app: Sphinx,  # noqa: ARG001
    name: str,  # noqa: ARG001
    template: str,  # noqa: ARG001
    context: dict[str, Any],
    tree: object,  # noqa: ARG001
) -> None:
    """Say how a link to the page is shown elsewhere. An address outside takes `DOCS_URL`, where the site will be."""
    about = {
        "og:type": "website",
        "og:site_name": project,
        "og:title": re.sub(r"<[^>]*>", "", context.get("title") or project),
        "og:description": "Tests the long-term memory of conversational agents, as a pytest plugin",
        "og:image": f"{html_baseurl}_static/card.png"
        if html_baseurl
        else context["pathto"]("_static/card.png", 1),
        "og:image:alt": "Scores of an agent by memory span: it remembers less and less",
        "twitter:card": "summary_large_image",
    }
    tags = "".join(
        f'<meta property="{key}" content="{escape(text)}">\n'
        for key, text in about.items()
    )
    context["metatags"] = f"{context.get('metatags', '')}{tags}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add what is above to Sphinx."""
    app.connect("autodoc-process-docstring", _sections)
    app.connect("autodoc-process-signature", _signature)
    app.connect("missing-reference", _resolved)
    app.connect("html-page-context", _card)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
