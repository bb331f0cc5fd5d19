"""Build the site: `python docs/_site/build.py FOLDER [GALLERY]`, with the extra `docs` installed. No network is needed.

Pages stay as GitHub shows them. A copy of them is laid out beside pages that are made
here: the reference of modules, hooks, options and commands; and what the lists of
contents link to becomes the site's navigation.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import public
from sphinx.cmd.build import build_main

from pytest_ltm.api.features import feature_hooks
from pytest_ltm.api.session import Option, OptionGroup, options
from pytest_ltm.commands import COMMANDS, PROGRAM, make_parser

PROJECT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
INDEX = "docs/index.md"
HUBS = (INDEX, "docs/scenarios/index.md", "conftest_examples/README.md")
"""Pages whose links are the navigation."""
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md")
MADE = {
    "docs/reference/options.md": "Options of pytest",
    "docs/reference/commands.md": "Commands of ltm",
}
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")


def main(argv: Sequence[str] | None = None) -> int:
    """Build the site and its texts for machines; Sphinx's exit status."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("folder", type=Path, help="where to; what is there is replaced")
    parser.add_argument(
        "--gallery",
        type=Path,
        help="a folder of reports made by 'python -m benchmarks gallery'",
    )
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made)
        lay_out(tree, given.gallery)
        shutil.rmtree(given.folder, ignore_errors=True)
        status = build_main(
            [
                "-W",
                "-n",
                "--keep-going",
                "-q",
                "-c",
                str(HERE),
                "-d",
                str(tree / ".doctrees"),
                str(tree),
                str(given.folder),
            ]
        )
        if status == 0:
            write_texts(tree, given.folder)
    for page in given.folder.rglob("*.html"):
        page.write_text(mended(page.read_text(encoding="utf-8")), encoding="utf-8")
    if given.gallery:
        shutil.copytree(given.gallery, given.folder / "gallery")
    refresh = '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    title = '<title>pytest-ltm</title><a href="docs/index.html">Documentation of pytest-ltm</a>'
    (given.folder / "index.html").write_text(
        f'<!doctype html><html lang="en">{refresh}{title}\n', encoding="utf-8"
    )
    return status


MENDS = (
    (
        r'<p class="caption" role="heading">',
        r'<p class="caption" role="heading" aria-level="2">',
    ),
    (
        r'<aside class="sidebar-drawer">',
        r'<aside class="sidebar-drawer" aria-label="All pages">',
    ),
    (
        r'<aside class="toc-drawer',
        r'<aside aria-label="On this page" class="toc-drawer',
    ),
    (r"<pre>", r'<pre tabindex="0">'),  # what scrolls can be reached with the keyboard
    (
        r'<div class="table-wrapper([^"]*)">',
        r'<div class="table-wrapper\1" tabindex="0">',
    ),
    (r'<div id="search-results"', r'<h1>Search</h1>\n<div id="search-results"'),
    (r'<th class="head"><p></p></th>', r'<td class="head"></td>'),
)


def mended(text: str) -> str:
    """Return a page of Sphinx and the theme with what those who listen to it, or use no mouse, would miss."""
    for wrong, right in MENDS:
        text = re.sub(wrong, right, text)
    # The lines of a signature are no list of definitions.
    return re.sub(
        r"<dl>\n((?:<dd>.*?</dd>\n)+)</dl>",
        lambda found: (
            f'<div class="sig-lines">\n{found[1].replace("<dd>", "<div>").replace("</dd>", "</div>")}</div>'
        ),
        text,
    )


def lay_out(tree: Path, gallery: Path | None) -> None:
    """Copy the pages with all they link to, make the reference, and add the navigation."""
    left_out = shutil.ignore_patterns("_site", "__pycache__", ".*")
    for folder in ("docs", "conftest_examples"):
        shutil.copytree(PROJECT / folder, tree / folder, ignore=left_out)
    for page in (
        *TOP_PAGES,
        "benchmarks/hypotheses.yml",
        "benchmarks/recorded/README.md",
        "benchmarks/recorded/index.yml",
    ):
        (tree / page).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(PROJECT / page, tree / page)
    (tree / "docs" / "reference").mkdir()
    write(tree, "docs/reference/options.md", options_page())
    write(tree, "docs/reference/commands.md", commands_page())
    for module, what in public.MODULES.items():
        write(
            tree, f"docs/reference/{module}.rst", "\n".join(module_page(module, what))
        )
    write(tree, "docs/reference/hooks.rst", "\n".join(hooks_page()))
    if gallery:
        write(tree, "docs/gallery.md", gallery_page(gallery))
    for hub in HUBS:
        add_navigation(tree, hub, gallery is not None)


def write(tree: Path, page: str, text: str) -> None:
    """Write a page of the tree."""
    (tree / page).write_text(text, encoding="utf-8")


# --- the navigation


def linked(text: str, folder: Path, tree: Path) -> list[str]:
    """Return the pages that a text links to, once each, from the root of the tree."""
    found = (
        ((folder / target).resolve()).relative_to(tree.resolve()).as_posix()
        for _, target in LINK.findall(text)
    )
    return list(dict.fromkeys(found))


def add_navigation(tree: Path, hub: str, has_gallery: bool) -> None:
    """Add to a page what its sections link to: a part of the navigation for each section of the index."""
    page = tree / hub
    text = page.read_text(encoding="utf-8")
    if hub != INDEX:
        pages = [
            each
            for each in linked(text, page.parent, tree)
            if each.startswith(hub.rpartition("/")[0] + "/")
        ]
        write(tree, hub, text + toctree(pages, "", tree))
        return
    parts = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        caption, _, body = section.partition("\n")
        pages = linked(body, page.parent, tree)
        if caption == "Three doors":
            pages = ["README.md", *pages, *(["docs/gallery.md"] if has_gallery else [])]
        if caption == "Runs and results":
            pages += [
                *MADE,
                *(f"docs/reference/{module}.rst" for module in public.MODULES),
                "docs/reference/hooks.rst",
            ]
        if caption == "Extend it":
            pages += ["CONTRIBUTING.md", "AGENTS.md"]
        parts.append(toctree(pages, caption, tree))
    write(tree, hub, text + "".join(parts))


TITLES = {
    "README": "Overview",
    **{path.removesuffix(".md"): title for path, title in MADE.items()},
}


def toctree(pages: list[str], caption: str, tree: Path) -> str:
    """Return the directive, which GitHub never sees."""
    assert all((tree / page).exists() for page in pages)
    names = [page.rpartition(".")[0] for page in pages]
    lines = [
        f"{TITLES[name]} </{name}>" if name in TITLES else f"/{name}" for name in names
    ]
    return "\n".join(
        [
            "\n```{toctree}",
            ":hidden:",
            f":caption: {caption}" if caption else "",
            "",
            *lines,
            "```",
            "",
        ]
    )


# --- the reference


def options_page() -> str:
    """Return the page of pytest's options, from the table that pytest itself gets them from."""
    rows = list(options.OPTIONS)
    feature_hooks().pytest_ltm_options.call_historic(kwargs={"register": rows.append})
    about = """
        # Options of pytest

        What `pytest --help` says of each option with a value, its default, and its name in the ini file. What starts
        a run, and what options mean in detail: [Options](../options.md).
    """
    lines = [inspect.cleandoc(about), ""]
    for group in OptionGroup:
        lines += [f"## {group.value.capitalize()}", ""]
        for row in rows:
            if row.group is group:
                lines += _describe_option(row)
    return "\n".join(lines)


def _describe_option(option: Option) -> list[str]:
    notes = []
    if option.has_twin:
        notes.append(f"ini: `{option.dest}`")
    if option.default:
        notes.append(f"default: `{option.default}`")
    else:
        notes.append("no default")
    if option.many:
        notes.append("repeatable")
    value = "" if option.is_switch else f"={option.metavar}"
    return [
        f"### `{option.flag}`",
        "",
        f"`{option.flag}{value}`",
        "",
        _sentence(option.help),
        "",
        f"({'; '.join(notes)})",
        "",
    ]


def _sentence(text: str) -> str:
    text = _marked(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _marked(text: str) -> str:
    """Return a text of the help as Markdown: options and what is in single quotes are code, nothing else is markup."""
    parts = re.split(
        r"(`[^`]+`|(?<![\w`])--[a-z][\w-]*(?:=[\w/.:]+)?|(?<!\w)'[^' ]+')",
        " ".join(text.split()),
    )
    escaped = [re.sub(r"([*_<>\[\]|])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part.strip(chr(39) + '`')}`" for part in parts[1::2]]
    return "".join(
        text for pair in zip(escaped, [*code, ""], strict=True) for text in pair
    )


def commands_page() -> str:
    """Return the page of `ltm`, from the table that its parser is made from."""
    lines = [
        "# Commands of ltm",
        "",
        "The same as `ltm COMMAND --help`. `ltm` is also `python -m pytest_ltm`.",
        "",
    ]
    for name in COMMANDS:
        parser = make_parser(name)
        lines += [
            f"## `{PROGRAM} {name}`",
            "",
            _sentence(" ".join((parser.description or "").split())),
            "",
        ]
        usage = parser.format_usage().removeprefix("usage: ")
        lines += [
            "```text",
            usage.strip(),
            "```",
            "",
            "| argument | meaning |",
            "|---|---|",
        ]
        for action in parser._actions:
            if action.help == argparse.SUPPRESS or action.dest == "help":
                continue
            lines.append(
                f"| {_argument(action)} | {_marked(action.help % vars(action) if action.help else '')} |"
            )
        lines.append("")
    return "\n".join(lines)


def _argument(action: Any) -> str:
    metavar = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if not action.option_strings:
        return f"`{_cell(metavar)}`"
    value = f" {metavar}" if action.nargs != 0 else ""
    return ", ".join(f"`{_cell(one + value)}`" for one in action.option_strings)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def module_page(module: str, what: str) -> Iterator[str]:
    """Yield the lines of a module's page: each public name where it is first exported."""
    yield from (
        f"``{module}``",
        "=" * (len(module) + 4),
        "",
        f"{what}.",
        "",
        f".. currentmodule:: {module}",
        "",
    )
    elsewhere = []
    for name in importlib.import_module(module).__all__:
        if public.homes()[name] != module:
            elsewhere.append(f":py:obj:`{public.homes()[name]}.{name}`")
            continue
        thing = getattr(importlib.import_module(module), name)
        kind = (
            "class"
            if inspect.isclass(thing)
            else "function"
            if inspect.isroutine(thing)
            else "data"
        )
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            kind = "exception"
        yield from (name, "-" * len(name), "")
        if kind == "data":
            kept = [f"   :type: {type(thing).__name__}"] * isinstance(
                thing, (str, tuple, dict)
            )
            yield from (
                f".. py:data:: {module}.{name}",
                *kept,
                "",
                *described(thing),
                "",
            )
        else:
            bases = ["   :show-inheritance:"] * (kind == "exception")
            yield from (f".. auto{kind}:: {module}.{name}", *bases, "")
    if elsewhere:
        yield from (
            "Also here",
            "---------",
            "",
            "Described under another module: " + ", ".join(elsewhere) + ".",
            "",
        )


def described(thing: object) -> Iterator[str]:
    """Yield the comment above a constant, wherever in the package it is assigned."""
    for module in [
        module for name, module in sys.modules.items() if name.startswith("pytest_ltm.")
    ]:
        for name in [name for name, value in vars(module).items() if value is thing]:
            if above := re.search(
                rf"((?:^# .*\n)+){name}\b.* = ", inspect.getsource(module), re.MULTILINE
            ):
                yield from (
                    f"   {line[2:].replace('`', '``')}"
                    for line in above[1].splitlines()
                )
                return


def hooks_page() -> Iterator[str]:
    """Yield the lines of the page of hooks."""
    yield from (
        "Hooks",
        "=====",
        "",
        "What pytest-ltm calls. How to implement them: :doc:`/docs/hooks`.",
        "",
    )
    found = importlib.import_module(public.HOOKS)
    for name in vars(found):
        if name.startswith("pytest_ltm_"):
            yield from (
                name,
                "-" * len(name),
                "",
                f".. autofunction:: {public.HOOKS}.{name}",
                "",
            )


def gallery_page(gallery: Path) -> str:
    """Return the page that shows the reports: the gallery's own list of them."""
    items = re.findall(
        r"<li>.*</li>", (gallery / "index.html").read_text(encoding="utf-8")
    )
    listed = [item.replace('href="', 'href="../gallery/') for item in items]
    about = (
        "Report files as a run writes them, made by `python -m benchmarks gallery`. "
        "Each is one self-contained page."
    )
    return "\n".join(
        ["# Gallery of reports", "", about, "", "<ul>", *listed, "</ul>", ""]
    )


# --- texts for machines


def write_texts(tree: Path, folder: Path) -> None:
    """Write `llms.txt`, the contents with a link to each page's source, and `llms-full.txt`, all pages in one file."""
    index = (tree / INDEX).read_text(encoding="utf-8").partition("\n```{toctree}")[0]
    source = PROJECT / INDEX

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found[2]).resolve().relative_to(PROJECT).as_posix()
        return f"[{found[1]}](_sources/{target})"

    about = importlib.import_module("importlib.metadata").metadata("pytest-ltm")[
        "Summary"
    ]
    body = LINK.sub(link, index[index.index("\n## ") :])
    (folder / "llms.txt").write_text(
        f"# pytest-ltm\n\n> {about}\n\n{body.strip()}\n", encoding="utf-8"
    )
    pages = ["README.md", *linked(index, tree / "docs", tree), *MADE]
    for hub in HUBS[1:]:
        pages += linked(
            (tree / hub).read_text(encoding="utf-8"), (tree / hub).parent, tree
        )
    texts = [
        f"<!-- {page} -->\n\n"
        + (tree / page)
        .read_text(encoding="utf-8")
        .partition("\n```{toctree}")[0]
        .strip()
        for page in dict.fromkeys(pages)
    ]
    (folder / "llms-full.txt").write_text("\n\n\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
