"""What the tests share: the installed program, the rows that are due, servers in this process."""

import pytest

# So that a failed assertion in here shows its values, as one in a test does.
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in ("jobs", "program", "services", "truth")))
