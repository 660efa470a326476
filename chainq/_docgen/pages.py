"""The manual pages: chainq(1), one for each command, chainq(5) for the configuration, chainq-formats(7)."""

from chainq._docgen import prose
from chainq._docgen.roff import Page, bold, cross, italic
from chainq._docgen.surface import Argument, Command, Option, Program
from chainq._docgen.values import own_formats
from chainq._version import __version__
from chainq.catalog.methods import Column, Method, Role
from chainq.config import profiles
from chainq.errors import exit_codes
from chainq.formats.protocol import Capabilities, OutputSpec

DATE = "2026-11-21"  # of the manual as a whole; not the day of writing, which would change every page every day
MAIN, CONFIG, FORMATS = ("chainq", 1), ("chainq", 5), ("chainq-formats", 7)


def pages(program: Program) -> dict[str, str]:
    """Return all manual pages, by file name."""
    written = {"chainq.1": _main(program), "chainq.5": _config(), "chainq-formats.7": _formats()}
    for command in program.commands:
        written[f"chainq-{command.name}.1"] = _command(command)
    return {name: str(page) for name, page in written.items()}


def _page(name: str, section: int, purpose: str) -> Page:
    page = Page(name, section, DATE, f"chainq {__version__}", "chainq manual")
    page.name(name, purpose)
    return page


def _main(program: Program) -> Page:
    page = _page("chainq", 1, prose.PURPOSE)
    page.section("Synopsis")
    page.synopsis("chainq", italic("COMMAND"), f"[{italic('ARGUMENTS')}]", f"[{italic('OPTIONS')}]")
    page.synopsis("chainq", " | ".join(bold(option.names[0]) for option in program.options))
    page.section("Description")
    page.paragraphs(*prose.DESCRIPTION)
    page.section("Commands")
    for heading, commands in program.headings.items():
        page.subsection(heading)
        for command in commands:
            called = f"The method `{command.method.name}`." if command.method else ""
            page.entry(cross(f"chainq-{command.name}", 1), f"{_sentence(command.purpose)} {called}")
    page.section("Options")
    _options(page, program.options)
    page.section("Ranges")
    page.paragraphs(*prose.RANGES)
    page.section("Output")
    page.paragraphs(*prose.OUTPUT)
    page.section("Service and profiles")
    page.paragraphs(*prose.SOURCE)
    page.section("Exit status")
    for code, meaning in exit_codes().items():
        page.entry(bold(code), meaning)
    page.paragraphs(prose.ENDING)
    page.section("Environment")
    for variable, text in variables(program).items():
        page.entry(bold(variable), text)
    page.section("Files")
    page.entry(italic(prose.CONFIG_FILE), "Profiles of servers; chainq(5) describes it.")
    page.section("Examples")
    for heading, lines in program.blocks.items():
        if any(line.startswith("chainq ") for line in lines):
            page.paragraphs(f"{heading}:")
            page.literal(lines)
    for heading, lines in prose.PIPELINES:
        page.paragraphs(heading)
        page.literal(lines)
    page.references([*((f"chainq-{command.name}", 1) for command in program.commands), CONFIG, FORMATS])
    return page


def variables(program: Program) -> dict[str, str]:
    """Return the environment variables and what each does, in alphabetical order."""
    known = {name: f"Same as `{option.names[0]}`: {option.text}" for name, option in program.variables.items()}
    return dict(sorted({**known, **prose.VARIABLES}.items()))


def _command(command: Command) -> Page:
    name = f"chainq-{command.name}"
    page = _page(name, 1, command.purpose)
    page.section("Synopsis")
    arguments = [italic(argument.shown) for argument in command.arguments]
    page.synopsis(f"chainq {command.name}", *arguments, *map(_shown, command.options))
    page.section("Description")
    page.paragraphs(*command.paragraphs)
    if command.arguments:
        page.section("Arguments")
        for argument in command.arguments:
            page.entry(italic(argument.metavar), _about(argument))
    page.section("Options")
    _options(page, command.options)
    if command.method:
        _limits(page, command.method)
        _columns(page, command.method.columns)
    for heading, lines in command.blocks.items():
        if not heading.startswith(("Example", "Columns")):
            page.section(heading)
            page.literal(lines)
    if command.examples:
        page.section("Examples")
        page.literal(command.examples)
    page.references([MAIN, CONFIG, *([FORMATS] if command.method else [])])
    return page


def _about(argument: Argument) -> str:
    return argument.text if argument.required else f"{argument.text} Optional."


def _tag(option: Option) -> str:
    """Return the head of an option's entry: `-o, --output FILE`."""
    names = ", ".join(bold(name) for name in sorted(option.names, key=len))
    return f"{names} {italic(option.metavar)}" if option.metavar else names


def _shown(option: Option) -> str:
    """Return an option as shown in a synopsis."""
    shown = " | ".join(bold(name) for name in option.names if name.startswith("--")) or bold(option.names[0])
    value = f" {italic(option.metavar)}" if option.metavar else ""
    return f"[{shown}{value}]{'...' if option.repeated else ''}"


def _options(page: Page, options: tuple[Option, ...]) -> None:
    """Write options under the headings of their groups, in the order of the groups."""
    groups: dict[str, list[Option]] = {}
    for option in options:
        groups.setdefault(option.heading, []).append(option)
    for heading, group in groups.items():
        if len(groups) > 1:
            page.subsection("Other" if heading == "Options" else heading)
        for option in group:
            page.entry(_tag(option), f"{option.said} Can be repeated." if option.repeated else option.said)


def limits(method: Method) -> tuple[str, ...]:
    """Return the limits of one call and how chainq keeps to them, as sentences."""
    said = []
    if method.max_heights:
        said.append(f"One call covers at most {method.max_heights:,} heights; a longer range takes several.")
    elif method.ranged:
        said.append(
            f"No limit of heights is documented; the first calls cover {method.first_heights:,}, later ones are sized "
            "by the responses so far."
        )
    size = method.param(Role.SIZE)
    if size:
        said.append(f"The initial page size (`{size.name}`) is {method.page_size:,} rows.")
    if method.page_size_max:
        said.append(f"A page has at most {method.page_size_max:,} rows.")
    return tuple(said) or ("No limits are documented.",)


def _limits(page: Page, method: Method) -> None:
    page.section("Limits")
    page.paragraphs(" ".join(limits(method)))


def _columns(page: Page, columns: tuple[Column, ...]) -> None:
    page.section("Columns")
    page.paragraphs("Names for `--columns`; a star marks what a table shows by default.")
    for column in columns:
        star = " *" if column.brief else ""
        page.entry(f"{bold(column.path)}{star}", f"{_sentence(column.type)} {_sentence(column.note)}".strip())


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def _config() -> Page:
    page = _page("chainq", 5, "configuration file of chainq")
    page.section("Synopsis")
    page.paragraphs(f"`{prose.CONFIG_FILE}`")
    page.section("Description")
    page.paragraphs(*prose.CONFIG)
    page.section("Keys of a profile")
    for key, kind in profiles.KEYS.items():
        page.entry(bold(key), f"{kind.capitalize()}. {prose.CONFIG_KEYS.get(key, '')}")
    page.section("Precedence")
    page.paragraphs(*prose.CONFIG_ORDER)
    page.section("Examples")
    page.literal(prose.CONFIG_EXAMPLE.splitlines())
    page.references([MAIN])
    return page


def _formats() -> Page:
    page = _page("chainq-formats", 7, "writing an output format for chainq")
    page.section("Description")
    page.paragraphs(*prose.FORMATS)
    page.paragraphs(f"chainq's own formats are {', '.join(f'`{name}`' for name in own_formats())}.")
    page.section("The specification")
    page.paragraphs("`spec` says what to write and for whom:")
    for field in OutputSpec._fields:
        page.entry(bold(field), prose.OUTPUT_SPEC.get(field, ""))
    page.section("Capabilities")
    page.paragraphs("Attributes of the format say what it can do and needs; without one it is False:")
    for capability in Capabilities._fields:
        page.entry(bold(capability), prose.CAPABILITIES.get(capability, ""))
    page.section("Examples")
    page.literal(prose.FORMAT_EXAMPLE.splitlines())
    page.paragraphs("In the package's `pyproject.toml`:")
    page.literal(prose.FORMAT_ENTRY.splitlines())
    page.references([MAIN])
    return page
