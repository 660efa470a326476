"""What a terminal shows after it got some text: enough of one for progress bars, which overwrite their own lines."""

import re

_STEP = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|([\r\n])|(.)", re.DOTALL)


def screen(text: str, columns: int) -> list[str]:
    """Return the lines of a terminal of that width, without those at the end that are empty.

    >>> screen("a\\r\\nbc\\r\\x1b[2K\\x1b[1Ad", 80)
    ['d']
    """
    lines: list[list[str]] = []
    row, column = 0, 0
    for number, command, control, char in _STEP.findall(text):
        if char and column == columns:  # the cursor waits behind the last column for the next character
            row, column = row + 1, 0
        while len(lines) <= row:
            lines.append([" "] * columns)
        if command == "A":
            row -= int(number or 1)
        elif command == "K":
            start = 0 if number == "2" else column
            lines[row][start:] = [" "] * (columns - start)
        elif control:
            row, column = row + (control == "\n"), column * (control == "\n")
        elif char:
            lines[row][column] = char
            column += 1
    shown = ["".join(line).rstrip() for line in lines]
    while shown and not shown[-1]:
        shown.pop()
    return shown
