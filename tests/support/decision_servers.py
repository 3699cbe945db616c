"""Servers of decision models as processes of their own on the loopback interface: a small model, a mock with faults.

The model is a bad judge, and the mock's answers are hashes of the question: both are good for the wire only.
"""

import importlib.util
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PATIENCE_S = 20.0


@contextmanager
def sparrow() -> Iterator[str]:
    """The server of `sparrow-decider` with its bundled model; yields its root URL."""
    with _serving("sparrow_decider", "sparrow-decider", "serve", "--host", "127.0.0.1") as url:
        yield url


@contextmanager
def mock(*options: str) -> Iterator[str]:
    """The mock of `jevcompat` with these options (`--fault NAME`, `--key KEY` …); yields its root URL."""
    with _serving("jevcompat", "jevcompat", "mock", *options) as url:
        yield url


@contextmanager
def _serving(package: str, program: str, *arguments: str) -> Iterator[str]:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the package {package} is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).parent / program), *arguments, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended with code {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise AssertionError("the server never listened")
