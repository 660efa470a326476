"""Pictures of what commands print on a terminal, as SVG for README.md: rich draws their output with its colours."""

import io

from chainq._docgen.sessions import COLUMNS, output

IMAGES = {
    "docs/images/show.svg": "chainq show at12ckvvk59m3pzpfedt8ly9wn6d0hy22peqjg8dxeg7mt3g8wgzg0qcmgnw4",
    "docs/images/table.svg": "chainq records 12345 --limit 12",
    "docs/images/chart.svg": "chainq records --last 200 --format chart",
}
"""The picture files and the command that each one shows."""

# As rich's own, without the fonts that it would fetch from another host, and without a window's frame.
_FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
<rect fill="#292929" x="1" y="1" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def images() -> dict[str, str]:
    """Return the pictures as they are now: path to SVG. Raises CalledProcessError where a command fails."""
    return {name: _picture(command) for name, command in IMAGES.items()}


def _picture(command: str) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(Text("$ " + command, "bold"), Text.from_ansi(output(command, color=True)), sep="\n", soft_wrap=True)
    return console.export_svg(code_format=_FORMAT, unique_id="chainq")
