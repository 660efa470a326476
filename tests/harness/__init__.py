"""What the tests share: the installed program, the rows that are due, servers and services in this process."""

from pathlib import Path

import pytest

# So that a failed assertion in here shows its values, as one in a test does.
pytest.register_assert_rewrite(*(f"{__name__}.{file.stem}" for file in Path(__file__).parent.glob("[a-z]*.py")))
