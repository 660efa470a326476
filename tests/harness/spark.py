"""A Spark of this machine, in a process of its own that evaluates expressions: `spark('read("blocks").count()')`."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from select import select
from typing import Any

import pytest

from harness.lake import Texts, parquet, texts
from harness.program import Program

LONGEST = 300  # seconds: Java takes long to start where others use the machine
_DRIVER = """
import contextlib, io, json, os, sys
said = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what else prints
from pyspark.sql import SparkSession
from chainq.client.spark import SparkSource

settings = {
    "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.log.level": "INFO",
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": os.getcwd(), "spark.sql.warehouse.dir": os.getcwd(),
}
spark = SparkSession.builder.master("local[3]").config(map=settings).getOrCreate()
spark.dataSource.register(SparkSource)

def read(table, **options):
    return spark.read.format("chainq").options(**options).load(table)

def save(frame, file):
    import pyarrow.parquet
    pyarrow.parquet.write_table(frame.toArrow(), file)

def plan(frame):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for mode in ("extended", "formatted", "cost"):
            frame.explain(mode)
    return printed.getvalue()

for line in sys.stdin:
    try:
        answer = {"value": eval(json.loads(line))}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), file=said, flush=True)
"""


def need_spark() -> None:
    """Skip the test, or the module, where Spark cannot run."""
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: the extra `spark`", allow_module_level=True)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java", allow_module_level=True)


class SparkError(Exception):
    """What Spark raised, as text."""


class Spark:
    """Evaluates expressions in a process with a session `spark` and the functions above. `home`: its folder."""

    def __init__(self, process: subprocess.Popen[str], home: Path) -> None:
        self._process, self.home = process, home

    def __call__(self, expression: str) -> Any:
        """The value of an expression. Raises SparkError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(expression), file=self._process.stdin, flush=True)
        ready, _, _ = select([self._process.stdout], [], [], LONGEST)
        assert ready, f"no answer to {expression}"
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise SparkError(answer["error"])
        return answer["value"]

    def rows(self, frame: str) -> list[Texts]:
        """The rows of a frame, each leaf as a text, as `harness.lake` has them."""
        file = self.home / "rows.parquet"
        self(f"save({frame}, {str(file)!r})")
        return texts(parquet.read_table(file).to_pylist())

    @property
    def logs(self) -> str:
        """All that Spark wrote: its log, and its record of events."""
        files = (path for path in self.home.rglob("*") if path.is_file() and path.suffix != ".parquet")
        return "".join(path.read_text(errors="replace") for path in files)


@contextmanager
def started(home: Path) -> Iterator[Spark]:
    """A Spark with three tasks at a time."""
    environment = Program(home).environment({"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"})
    environment |= {name: os.environ[name] for name in ("JAVA_HOME",) if name in os.environ}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (home / "spark.log").open("w") as log:
        line = [sys.executable, "-c", _DRIVER]
        with subprocess.Popen(line, cwd=home, env=environment, text=True, stderr=log, **pipes) as process:  # type: ignore[call-overload]
            try:
                yield Spark(process, home)
            finally:
                process.stdin.close()
                process.wait(LONGEST)
