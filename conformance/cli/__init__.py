"""The command ``pagedkv``."""

import sys
from importlib import import_module

_EXTRAS = {"click": "check", "rich": "check", "hypothesis": "check", "jsonschema": "check"}
"""Which extra brings a package that commands need."""


def main() -> None:
    """Run the command line; ends the process with 0, 1, 2 or 130 (see ``pagedkv --help``)."""
    try:
        commands = import_module("pagedkv.conformance.cli.commands")
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        print(
            f"pagedkv: the command needs {error.name}: pip install 'pagedkv[{_EXTRAS[error.name]}]'",
            file=sys.stderr,
        )
        sys.exit(2)
    commands.pagedkv()
