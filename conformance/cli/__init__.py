"""The command ``pagedkv``."""

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
    commands.pagedkv()
