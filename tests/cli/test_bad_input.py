"""Whatever a user can get wrong ends with 2 and a sentence that says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from pagedkv.conformance.cli import NEEDED
from pagedkv.spec.world import REACHING

from .conftest import Command, Process

FULL = Path("/dev/full")
"""Has no room for anything, where there is such a file."""

MODULES = {
    "raises": "def make(world):\n    raise RuntimeError('no device')\n",
    "lacks": "class make:\n    def __init__(self, world): ...\n    def lookup(self, request): ...\n",
    "no_factory": "make = 3\n",
    "broken": "import nothing_of_that_name\n",
    **{
        name: f"from examples.own_manager import OwnManager\nclass make(OwnManager):\n    groups = {groups}\n"
        for name, groups in (
            ("text_of_groups", "'full+mamba'"),
            ("no_groups", "()"),
            ("odd_groups", "('full', 'hybrid')"),
        )
    },
}
EXPECTATIONS = {
    "torn.toml": "[[expect]",
    "other.toml": "[known]\n",
    "unknown.toml": "[[expect]]\nclause = 'Pool/nothing'\nreason = 'none'\n",
    "lacks.toml": "[[expect]]\nclause = 'Pool/no_leak'\n",
}
TRACES = {
    "empty.jsonl": "",
    "text.jsonl": "no trace\n",
    "list.jsonl": "[]\n",
    "one.jsonl": '{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}\n',
    "short.jsonl": '{"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1]}\n',
}

BAD_INPUT = [
    (("check", "nobody"), "there is no subject 'nobody': take `reference`"),
    (("check", "nowhere:make"), "run from the folder that has nowhere, or install it"),
    (("check", "broken:make"), "No module named 'nothing_of_that_name'"),
    (("check", "examples.own_manager:nothing"), "cannot be imported"),
    (("check", "raises:make"), "raised RuntimeError for a world of 4 blocks: no device"),
    (("check", "lacks:make"), "without allocate, free, step: see pagedkv.spec.interface.Manager"),
    (("check", "no_factory:make"), "'no_factory:make' is not a factory"),
    (("check", "vllm"), "vLLM is not installed here"),
    (("check",), "Missing argument 'SUBJECT'"),
    (("check", "reference", "--profile", "nope"), "'nope' is not one of 'quick', 'ci', 'deep'"),
    (("check", "reference", "--ops", "0"), "0 is not in the range x>=1"),
    (("check", "reference", "--jobs", "0"), "0 is not in the range 1<=x<=256"),
    (("check", "reference", "--timeout", "0"), "0.0 is not in the range x>0"),
    *(
        ((*command, "--timeout", value), f"{value} is no number of seconds")
        for command in (("check", "reference"), ("replay", "empty.jsonl"), ("prove",))
        for value in ("nan", "inf")
    ),
    (("check", "reference", "--seed", "one"), "'one' is no seed: name a whole number"),
    (("check", "reference", "--seed", str(2**64)), "is no seed"),
    (
        ("check", "reference", "--groups", "sliding"),
        "there is no kind of group 'sliding': name one to 4 of full",
    ),
    (("check", "reference", "--groups", "full:4"), "there is no kind of group 'full:4'"),
    (("check", "reference", "--groups", "+".join(["full"] * 5)), "5 groups are too many"),
    (
        ("check", "examples.own_manager:make", "--groups", "full+mamba"),
        "examples.own_manager:make manages full and not full+mamba: ask for one of those, or say with an "
        "attribute `groups` of the factory that it manages more, such as "
        "make.groups = ('full', 'full+mamba')",
    ),
    (
        ("workload", "one.jsonl", "--on", "examples.own_manager:make"),
        "name such groups with --groups, or say with an attribute `groups` of the factory",
    ),
    (
        ("check", "text_of_groups:make"),
        "has an attribute `groups` that is 'full+mamba': it has to be a tuple",
    ),
    (("check", "no_groups:make"), "has an attribute `groups` that is ()"),
    (("check", "odd_groups:make"), "has 'hybrid' in its attribute `groups`, and there is no kind of group"),
    (("check", "reference", "--expect", "nowhere.toml"), "nowhere.toml cannot be read: No such file"),
    (("check", "reference", "--expect", "torn.toml"), "torn.toml cannot be read as TOML"),
    (("check", "reference", "--expect", "other.toml"), "has to consist of tables [[expect]]"),
    (
        ("check", "reference", "--expect", "unknown.toml"),
        "there is no clause 'Pool/nothing': see `pagedkv clauses`",
    ),
    (("check", "reference", "--expect", "lacks.toml"), "lacks reason"),
    (("replay", "nowhere.jsonl"), "the file cannot be read"),
    (("replay", "empty.jsonl"), "the file is empty"),
    (("replay", "text.jsonl"), "the line is not JSON"),
    (("replay", "list.jsonl"), "a trace starts with a header"),
    (("explore", "nowhere"), "there is no scope 'nowhere': name one of full, hybrid"),
    (("explore", "--groups", "full"), "--groups full: 'full' is no group"),
    (("explore", "--groups", "full:0"), "such as full:2+window:2:3"),
    (
        ("explore", "--groups", "window:2"),
        "'window:2' is no group: name each as KIND:TOKENS with one of full, mamba, latent, mamba-all and a "
        "block size, or as KIND:TOKENS:LENGTH with one of window, chunk, reference, sink, all from 1 to 64",
    ),
    (("explore", "--groups", "cross:2"), "--groups cross:2: cross needs caching to be off, and here it is"),
    (("explore", "--groups", "full:2+mamba-none:8"), "mamba-none needs caching to be off, and here it is on"),
    (("explore", "--groups", "full:2:2"), "'full:2:2' is no group"),
    (("explore", "--groups", "sliding:2"), "'sliding:2' is no group"),
    (
        ("explore", "--groups", "full:3+mamba:2", "--unit", "2"),
        "unit divides every block_size, not 2 and [3, 2]",
    ),
    (("explore", "--blocks", "1"), "1 is not in the range x>=2"),
    (("clauses", "nothing"), "there is no clause or family 'nothing': the families are Config"),
    (("faults", "nothing"), "there is no planted fault 'nothing': see `pagedkv faults --list`"),
    (("workload", "nowhere.jsonl"), "nowhere.jsonl, line 1: the file cannot be read (No such file"),
    (("workload", "."), "., line 1: the file cannot be read (Is a directory)"),
    (("workload", "empty.jsonl"), "empty.jsonl, line 1: there is no request in the file"),
    (("workload", "text.jsonl"), "text.jsonl, line 1: the line is not JSON"),
    (("workload", "list.jsonl"), "list.jsonl, line 1: the line is a list of 0"),
    (("workload", "short.jsonl"), "`hash_ids` has 1 entries, and 600 tokens are 2 started blocks of 512"),
    (("workload", "one.jsonl", "--on", "nobody"), "there is no subject 'nobody'"),
    (("workload", "one.jsonl", "--on", "impl@nowhere"), " here"),
    (
        ("workload", "one.jsonl", "--groups", "full"),
        "--groups full: 'full' is no group: name each as KIND:TOKENS",
    ),
    (("workload", "one.jsonl", "--groups", "full:0"), "'full:0' is no group"),
    (("workload", "one.jsonl", "--groups", "full:64+mamba:64"), "'full:64+mamba:64' is no group"),
    (("workload", "one.jsonl", "--groups", "sliding:64"), "'sliding:64' is no group"),
    (("workload", "one.jsonl", "--groups", "full:64,cross:64"), "cross needs caching to be off"),
    (("workload", "one.jsonl", "--groups", "mamba-none:9999"), "mamba-none needs caching to be off"),
    *(
        (("workload", "one.jsonl", "--groups", f"{kind}:64"), f"with one of {', '.join(REACHING)}, all from")
        for kind in REACHING
    ),
    (("workload", "one.jsonl", "--groups", "sink:64:96"), "sinks fill whole blocks of 64 tokens, not 96"),
    (("workload", "one.jsonl", "--groups", ",".join(["full:64"] * 17)), "17 groups, and there can be 16"),
    (("workload", "one.jsonl", "--groups", "full:100"), "unit divides every block_size, not 64 and [100]"),
    (("workload", "one.jsonl", "--groups", "mamba:64,mamba:128"), "mamba groups have one block_size"),
    (
        ("workload", "one.jsonl", "--blocks", "5"),
        "line 1: the request needs up to 6 blocks for its 603 tokens",
    ),
    (("workload", "one.jsonl", "--laws", "all"), "'all' is neither `off` nor `every=N`"),
    (("workload", "one.jsonl", "--laws", "every=0"), "'every=0' is neither"),
    (("workload", "one.jsonl", "--limit", "0"), "0 is not in the range x>=1"),
    (("workload", "one.jsonl", "--budget", "-1"), "-1 is not in the range x>=1"),
    (("workload-trace", "nowhere/a.jsonl"), "nowhere/a.jsonl cannot be written (No such file"),
    (("workload-trace", "a.jsonl", "--requests", "0"), "0 is not in the range"),
    (("nothing",), "No such command 'nothing'"),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD_INPUT, ids=lambda value: " ".join(value)[:60])
def test_it_is_told_and_ends_with_2(
    command: Command, folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    for name, text in {
        **{f"{name}.py": text for name, text in MODULES.items()},
        **EXPECTATIONS,
        **TRACES,
    }.items():
        (folder / name).write_text(text)
    result = command(*arguments)
    assert sentence in result.output
    assert result.exit_code == 2
    # A trace on the standard error would be an exception that nobody took care of.
    assert isinstance(result.exception, SystemExit)
    told = [line for line in result.output.splitlines() if line.startswith(("pagedkv: ", "Error: "))]
    assert len(told) == 1
    assert not (folder / ".pagedkv").exists()


def test_a_manager_that_some_worlds_cannot_be_made_with_is_told(process: Process, folder: Path) -> None:
    (folder / "small.py").write_text(
        "from examples.own_manager import OwnManager\n"
        "def make(world):\n"
        "    if world.num_blocks > 4:\n"
        "        raise MemoryError('too many blocks')\n"
        "    return OwnManager(world)\n"
    )
    ended = process("check", "small:make", "--ops", "100")
    assert ended.returncode == 2
    assert ended.stderr.startswith("pagedkv: 'small:make' raised MemoryError when a manager for full with ")
    assert ended.stderr.endswith("was to be made: too many blocks\n")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(not FULL.exists(), reason="no file here is always full")
@pytest.mark.parametrize(
    "arguments", [("clauses",), ("--help",), ("check", "reference", "--ops", "1"), ("faults", "--list")]
)
def test_output_that_finds_no_room_is_told(arguments: tuple[str, ...], folder: Path) -> None:
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "pagedkv", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    told = (
        "pagedkv: the output cannot be written (No space left on device): make room, or name another place\n"
    )
    assert (ended.returncode, ended.stderr) == (2, told)


def test_a_process_that_cannot_start_is_told(process: Process, folder: Path) -> None:
    (folder / "childless.py").write_text(
        "import os\nfrom multiprocessing import parent_process\n"
        "from examples.own_manager import OwnManager as make\n"
        "if parent_process() is not None:\n    os._exit(7)\n"
    )
    ended = process("check", "childless:make", "--ops", "100")
    assert ended.returncode == 2
    assert ended.stderr == (
        "pagedkv: a process for childless:make could not start: the process died with exit code 7\n"
    )


@pytest.mark.parametrize("package", NEEDED)
def test_a_missing_package_is_told_with_the_extra_that_brings_it(package: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from pagedkv.conformance.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == f"pagedkv: the command needs {package}: pip install 'pagedkv[check]'\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "reference", "--profile", "bogus"], "'bogus' is not one of 'quick', 'ci', 'deep'"),
        (["check", "reference", "--ops", "0"], "--ops"),
        (["check"], "Missing argument 'SUBJECT'"),
        (["chek"], "No such command 'chek'"),
        (["check", "reference", "--nonsense"], "--nonsense"),
    ],
)
def test_what_a_command_cannot_read_is_one_sentence(
    command: Command, arguments: list[str], words: str
) -> None:
    result = command(*arguments)
    assert result.exit_code == 2
    (line,) = result.output.splitlines()
    assert line.startswith("pagedkv: ")
    assert words in line
    assert "--help`" in line
