"""The group of all commands."""

from importlib.metadata import version

import click

from pagedkv.spec import SPEC_VERSION

from .bench import bench_command
from .check import check_command
from .clauses import clauses_command
from .errors import Commands
from .explore import explore_command
from .faults import faults_command
from .prove import prove_command
from .replay import replay_command
from .workload import workload_command, workload_trace_command


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(
    version("pagedkv"), prog_name="pagedkv", message=f"%(prog)s %(version)s, specification {SPEC_VERSION}"
)
def pagedkv() -> None:
    """Hold a paged KV-cache manager to its specification.

    \b
    First steps:
      pagedkv check reference              judge the model that comes with this package
      pagedkv check mymanager:make         judge a manager of your own
      pagedkv clauses                      read the rules

    \b
    Exit codes:
      0    nothing unexpected
      1    a fault was found, or the check has not shown what it must
      2    it could not run: bad input, no such subject, a file that cannot be written
      130  interrupted; what was found until then is kept and printed
    """


for command in (
    check_command,
    replay_command,
    explore_command,
    faults_command,
    clauses_command,
    prove_command,
    bench_command,
    workload_command,
    workload_trace_command,
):
    pagedkv.add_command(command)
