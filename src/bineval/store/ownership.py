"""Who works on a run: a name for each claim, and whether the process that made it still lives."""

import os
import socket
import sys
import time
import uuid
from pathlib import Path

_GONE_AFTER_S = 300.0


def new_owner() -> str:
    """Returns a name that no other claim has, in this process or another."""
    pid = os.getpid()
    return "|".join((socket.gethostname(), str(pid), _started(pid), uuid.uuid4().hex[:8]))


def describe(owner: str) -> str:
    """Returns the owner in words."""
    host, pid, _, _ = owner.rsplit("|", 3)
    return "another thread of this process" if _is_this_process(owner) else f"process {pid} on {host}"


def is_alive(owner: str, touched_at: float) -> bool:
    """Whether the process that made a claim still lives.

    Args:
        owner: Its name.
        touched_at: Its last sign of life, which is all that is known of another host; seconds since 1970.
    """
    host, pid, started, _ = owner.rsplit("|", 3)
    # On Windows, os.kill ends the process that it should only look for.
    if host != socket.gethostname() or sys.platform == "win32":
        return time.time() - touched_at < _GONE_AFTER_S
    if started:
        # A process that began at another time has only got the number of the one that is gone.
        return _started(int(pid)) == started
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_this_process(owner: str) -> bool:
    host, pid, started, _ = owner.rsplit("|", 3)
    return (host, pid, started) == (socket.gethostname(), str(os.getpid()), _started(os.getpid()))


def _started(pid: int) -> str:
    """When a process began, in ticks since the machine did; empty where the system does not tell or it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The second field is the name in parentheses, which may hold anything; the 22nd is the start.
    return text.rpartition(")")[2].split()[19]
