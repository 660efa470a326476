"""`nox` runs the tests on every supported Python that is installed; `nox -s lint` runs the linters.

Arguments after `--` go to pytest: `nox -s tests-3.13 -- tests/heights`.
"""

import nox

nox.options.sessions = ["tests"]
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def tests(session: nox.Session) -> None:
    """Run the whole suite."""
    session.install("-e", ".[test]")
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and the import rule."""
    session.install("-e", ".[test,lint]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")
