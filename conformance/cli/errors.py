"""What a user is told when a command cannot run: one sentence that says what to do, and exit code 2."""

from typing import IO, Any

import click

from pagedkv.conformance.campaign.campaign import Exit
from pagedkv.conformance.campaign.children import ChildFailed
from pagedkv.conformance.campaign.expectations import BadExpectations
from pagedkv.conformance.group_text import BadDeployment
from pagedkv.conformance.subjects import SubjectUnavailable
from pagedkv.conformance.wording import printable
from pagedkv.conformance.workload.trace import BadWorkload
from pagedkv.spec.trace import BadTrace

BAD_INPUT = (SubjectUnavailable, BadExpectations, BadTrace, BadWorkload, BadDeployment, ChildFailed)
"""Errors whose message is already such a sentence."""


class CannotRun(click.ClickException):
    """A command cannot run; the message says what to do."""

    exit_code = Exit.COULD_NOT_RUN

    def show(self, file: IO[Any] | None = None) -> None:
        """Say so on the standard error."""
        # A message may repeat what a file holds.
        click.echo(f"pagedkv: {printable(' '.join(self.message.split()))}", file=file, err=file is None)


class Commands(click.Group):
    """A group whose commands end as ``pagedkv --help`` says, whatever they raise that users can cause."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BAD_INPUT as error:
            raise CannotRun(str(error)) from error
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else ctx.command_path
            raise CannotRun(f"{error.format_message().rstrip('.')}; see `{path} --help`") from error
        except KeyboardInterrupt:
            click.echo("pagedkv: interrupted", err=True)
            ctx.exit(Exit.INTERRUPTED)
