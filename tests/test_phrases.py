"""Errors name parameters as data: the command line writes them as options, the Python API as keywords."""

import ast
import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import chainq
from chainq.cli.commands import COMMANDS
from chainq.client.boundary import boundary
from chainq.errors import ChainqError, Phrase, UsageError
from chainq.fetching.dialect_detection import explain
from chainq.heights.bounds import Bounds, parse_count
from chainq.lake.partition import LESS_MEMORY
from chainq.planning.exact_heights import NO_VERIFY
from chainq.planning.facts import below_tip
from chainq.process.pool import WorkerDiedError
from chainq.text.spelling import spelled

ROOT = Path(chainq.__file__).parent
SPELLED = [
    (Phrase("raise {timeout} or lower {concurrency}"), "raise --timeout or lower -j",
     "raise timeout or lower concurrency"),
    (Phrase("{}, or {max_memory}", "{timeout}"), "{timeout}, or --max-memory", "{timeout}, or max_memory"),
    (Phrase("try {url}", url="demo:"), "try --url demo:", "try url='demo:'"),
    (Phrase("with {verify}", verify=False), "with --no-verify", "with verify=False"),
    (Phrase("with {follow}", follow=True), "with --follow", "with follow=True"),
    (Phrase("{start} > {end}", start=7, end=5), "--start 7 > --end 5", "start=7 > end=5"),
    ("m: " + Phrase("by {headers}") + " (after 3 {attempts})", "m: by --header (after 3 {attempts})",
     "m: by headers (after 3 {attempts})"),
    (Phrase("{}; {follow} omits them", UsageError("m", Phrase("{rate}", rate=2)), follow=False),
     "m; --rate 2; --no-follow omits them", "m; rate=2; follow=False omits them"),
    (below_tip(10, None, above=False), "end the range below the tip, such as --end -10",
     "end the range below the tip, such as end=client.tip_height()-9"),
    (NO_VERIFY, "chainq blocks and chainq full-blocks read such rows unchecked with --no-verify",
     "blocks() and full_blocks() read such rows unchecked with verify=False"),
    (Phrase("name {output}", output="FILE"), "name -o FILE", "name output=FILE"),
    (LESS_MEMORY, "lower -w or -j, or export with a smaller --partition",
     "lower workers or concurrency, or export with a smaller partition"),
    (WorkerDiedError(1, 2).hint, "run again; -w 1 uses none", "run again; workers=1 uses none"),
]  # fmt: skip


@pytest.mark.parametrize(("phrase", "options", "keywords"), SPELLED)
def test_each_interface_has_words_of_its_own(phrase: str, options: str, keywords: str) -> None:
    """Also once the phrase was copied, or came from another process."""
    for same in (phrase, copy.copy(phrase), pickle.loads(pickle.dumps(phrase))):  # noqa: S301
        assert spelled(same) == options
        with pytest.raises(UsageError) as caught, boundary():
            raise UsageError("m", same)
        assert caught.value.hint == keywords


def test_other_text_stays_as_it_is() -> None:
    """What looks like a parameter in the text of a server is none."""
    assert spelled("{timeout} of {}") == "{timeout} of {}"


def bad_dialect() -> None:
    """An error whose hint is set later."""
    from chainq.catalog.dialects import DIALECTS
    from chainq.errors import ServiceError

    error = ServiceError("m: no", code="-32601")
    explain(error, DIALECTS["chain"], stated=True, shared=False)
    raise error


RAISED: list[tuple[Callable[[], object], str]] = [
    (lambda: parse_count("x"), "invalid --last 'x': expected a number of blocks such as 100 or 10K"),
    (Bounds(5, last=3).check, "--last cannot be combined with --start, --end, --since or --until"),
    (Bounds(5, since=3.0).check, "--start cannot be combined with --since"),
    (Bounds(7, 5).check, "--start 7 is greater than --end 5"),
    (bad_dialect, "m: this server speaks another dialect than chain: no; --dialect auto detects it; chainq doctor"
     " examines the server"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), RAISED)
def test_whole_errors(call: Callable[[], object], words: str) -> None:
    """Message and hint together, as the command line prints them."""
    with pytest.raises(ChainqError) as caught:
        call()
    assert spelled(str(caught.value)) == words


def lower_layers() -> Iterator[tuple[Path, ast.AST]]:
    """The files of all folders below the command line, parsed."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ("cli", "_docgen", "demo"):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def texts(tree: ast.AST) -> Iterator[str]:
    """The strings of a program without its docstrings, those of an f-string joined."""
    for node in ast.walk(tree):
        for _, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.JoinedStr):
                    yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in child.values)
                elif isinstance(child, ast.Constant) and not isinstance(node, ast.Expr | ast.JoinedStr):
                    yield str(child.value)


COMMAND_LINES = {"installer.py", "stored/inventory.py", "verify/findings.py", "text/spelling.py"}
"""They make command lines for a shell, piece by piece; the last one spells parameters."""


def test_no_lower_layer_names_an_option() -> None:
    """Errors and warnings name parameters; only a whole command, which is for a shell, has options."""
    option = re.compile(r"(?<![\w-])--[a-z]|(?<=\s)-[jwo]\b")
    found = [
        f"{path}: {text}"
        for path, tree in lower_layers()
        if str(path) not in COMMAND_LINES
        for text in texts(tree)
        if option.search(re.sub(r"chainq [^;]*", "", text))
    ]
    assert found == []


def test_every_parameter_of_a_phrase_is_an_option() -> None:
    """None is misspelt: each phrase of the lower layers, as the command line writes it, names options that exist."""
    known = {name for _, _, build in COMMANDS.values() for option in build().params for name in option.opts}
    named = set()
    for _, tree in lower_layers():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Phrase":
                off = {word.arg for word in node.keywords if getattr(word.value, "value", None) is False}
                for text in texts(node):
                    named |= {
                        spelled(Phrase(f"{{{name}}}", **({name: False} if name in off else {})))
                        for name in re.findall(r"\{([a-z_]+)\}", text)
                    }
    assert {"--no-verify", "--end", "-j"} <= named
    assert named - known == set()
