"""Airbyte's low-code CDK: `read.py records|full-blocks URL START END` prints Airbyte messages.

All of the configuration is in manifest.yaml; this writes the two files that a connector is given by its platform, and
runs the CDK's own program.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCKS = 100  # heights of a call for full blocks

kind, url, start, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
stream = {"name": kind, "json_schema": {}, "supported_sync_modes": ["full_refresh"]}
catalog = {"streams": [{"stream": stream, "sync_mode": "full_refresh", "destination_sync_mode": "overwrite"}]}
config = {"url": url, "start": start, "end": end, "starts": [str(at) for at in range(start, end, BLOCKS)]}
with tempfile.TemporaryDirectory() as name:
    for file, content in (("catalog", catalog), ("config", config)):
        Path(name, file).write_text(json.dumps(content))
    program = str(Path(sys.executable).with_name("source-declarative-manifest"))
    files = ["--config", f"{name}/config", "--catalog", f"{name}/catalog"]
    manifest = str(Path(__file__).with_name("manifest.yaml"))
    sys.exit(subprocess.run([program, "read", *files, "--manifest-path", manifest], check=False).returncode)
