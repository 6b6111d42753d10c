"""The command ``pagedkv``."""

import errno
import os
import sys
from importlib import import_module

NEEDED = ("click", "rich")
"""What the extra ``check`` brings and every command needs."""


def main() -> None:
    """Run the command line; ends the process with 0, 1, 2 or 130 (see ``pagedkv --help``)."""
    try:
        commands = import_module("pagedkv.conformance.cli.commands")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in NEEDED:
            raise
        print(f"pagedkv: the command needs {package}: pip install 'pagedkv[check]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("pagedkv: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        commands.pagedkv()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        # What waits in the buffer would fail once more when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        where = error.filename or "the output"
        print(
            f"pagedkv: {where} cannot be written ({error.strerror}): make room, or name another place",
            file=sys.stderr,
        )
        sys.exit(2)
