"""Pages lead somewhere: links, headings and paths exist, and the README keeps its shape."""

import ast
import re
from pathlib import Path

import pytest

from chainq.catalog.methods import METHODS, Method
from harness.running.pages import FENCE, PAGES, sections
from harness.running.program import ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Links to files and headings of this project have their target."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            there = page if not path else (page.parent / path).resolve()
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), target


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as hosts of Markdown make them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w-]", "", head.lower().replace(" ", "-")) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    """Files and folders of the project that a page names exist."""
    named = re.findall(
        r"`((?:chainq|tests|docs|man|completions|\.ci)/(?!config.toml)[\w./-]*)`", page.read_text("utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_is_short_and_keeps_its_two_commands() -> None:
    """The README has at most 110 lines, one command that installs and runs, and one that installs and tests."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 110
    (tests,) = (line for line in lines if re.fullmatch(r"python3 .*pytest", line))
    (runs,) = (line for line in lines if re.match(r"python3 -m venv .venv && .venv/bin/pip install \. && ", line))
    assert tests.startswith("python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && ")
    assert runs.count("--url demo:") == 2


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.command)
def test_pages_list_every_method(method: Method) -> None:
    """The tables of commands, of `Client`, and of the service."""
    for page, head, name in (
        ("README.md", "| command | prints |", method.command),
        ("docs/python.md", "| method | returns |", method.command.replace("-", "_")),
        ("docs/protocol.md", "| method | result |", method.name),
    ):
        table = (ROOT / page).read_text("utf-8").partition(head)[2].partition("\n\n")[0]
        assert re.search(rf"`{name}[`( ]", table), page


def test_examples_in_python_are_annotated() -> None:
    """So that they pass `mypy --strict` where they are pasted."""
    blocks = [block for page in PAGES for section in sections(page) for block in section if block.language == "python"]
    assert blocks
    for block in blocks:
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                bare = [one.arg for one in node.args.args if one.annotation is None and one.arg != "self"]
                assert node.returns is not None, (str(block), node.name)
                assert not bare, (str(block), node.name)
