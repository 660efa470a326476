"""Which command adds an extra: that of the installer which made the installation."""

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from chainq import installer


class Installed:
    """A distribution with that PEP 610 origin."""

    def __init__(self, origin: Any) -> None:
        self.origin = origin

    def read_text(self, _: str) -> str | None:
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("file", "origin", "expected"),
    [
        ("pipx_metadata.json", None, "pipx install --force 'chainq[chart]'"),
        ("uv-receipt.toml", None, "uv tool install 'chainq[chart]'"),
        ("pyvenv.cfg", None, "pip install 'chainq[chart]'"),
        ("pyvenv.cfg", {"url": "https://x.invalid/chainq.whl", "archive_info": {}}, "pip install 'chainq[chart]'"),
        (
            "pipx_metadata.json",
            {"url": "file://{at}/c", "dir_info": {}},
            "pipx install --force '{at}/c[chart]'",
        ),
        ("pyvenv.cfg", {"url": "file://{at}/c", "dir_info": {}}, "{at}/bin/pip install '{at}/c[chart]'"),
        ("pyvenv.cfg", {"url": "file://{at}/removed", "dir_info": {}}, "pip install 'chainq[chart]'"),
        (
            "pyvenv.cfg",
            {"url": "file://{at}/my%20chainq", "dir_info": {"editable": True}},
            "{at}/bin/pip install -e '{at}/my chainq[chart]'",
        ),
    ],
)
def test_the_command_is_that_of_the_installer(
    file: str, origin: Any, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pipx and uv leave a file in their environments; a clone is known by its origin, if it is still there."""
    (tmp_path / file).touch()
    for clone in ("c", "my chainq"):
        (tmp_path / clone).mkdir()
    if origin is not None:
        origin = {**origin, "url": origin["url"].format(at=tmp_path)}
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installer, "distribution", lambda _: Installed(origin))
    monkeypatch.setattr(installer, "find_spec", lambda _: True)
    assert installer.install_command("chart") == expected.format(at=tmp_path)


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "pipx_metadata.json",
            '{"main_package": {"package_or_url": "/c/chainq[sql,parquet]"}, "injected_packages": {}}',
            "pipx install --force 'chainq[sql,parquet,chart]'",
        ),
        (
            "uv-receipt.toml",
            '[tool]\nrequirements = [{ name = "chainq", extras = ["chart", "sql"], directory = "/c" }]\n',
            "uv tool install 'chainq[chart,sql]'",
        ),
    ],
)
def test_the_extras_that_are_there_stay(
    file: str, text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both installers make the environment anew, with what the command names."""
    (tmp_path / file).write_text(text)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installer, "distribution", lambda _: Installed(None))
    assert installer.install_command("chart") == expected


def test_without_metadata_it_is_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the source that nothing installed."""

    def absent(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installer, "distribution", absent)
    monkeypatch.setattr(installer, "find_spec", lambda _: True)
    assert installer.install_command("chart") == "pip install 'chainq[chart]'"


def test_without_pip_it_is_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that `uv venv` made has no pip of its own."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(installer, "distribution", lambda _: Installed({"url": f"file://{tmp_path}", "dir_info": {}}))
    monkeypatch.setattr(installer, "find_spec", lambda _: None)
    assert installer.install_command("chart") == f"uv pip install --python {tmp_path} '{tmp_path}[chart]'"
