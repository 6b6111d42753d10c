"""`pagedkv check`: verdict, faults, report, interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pagedkv.conformance.report.files import report_schema
from pagedkv.conformance.worlds import MIXES
from pagedkv.spec.trace import read_trace

from .conftest import EXAMPLES, Process

README = EXAMPLES.parent / "README.md"
LEAKY = "examples.leaky_manager:make"


def read_report(folder: Path) -> dict[str, Any]:
    """The report in a folder, held to its schema."""
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    jsonschema.validate(report, report_schema())
    return report


def shown_in_readme() -> list[str]:
    """What the README shows of the failure: the lines, cut where something is left out."""
    text = README.read_text(encoding="utf-8").partition("## A failure")[2].partition("\n## ")[0]
    lines = [line.removeprefix("    ") for line in text.splitlines() if line.startswith("    ")]
    return [part for line in lines for part in line.split("...") if part.strip()]


def assert_in_order(parts: list[str], text: str) -> None:
    """The text has these parts, one behind the other."""
    assert len(parts) > 8
    position = 0
    for part in parts:
        assert part in text[position:]
        position = text.index(part, position) + len(part)


def test_a_sound_manager_passes_and_leaves_nothing_behind(process: Process, folder: Path) -> None:
    ended = process("check", "examples.own_manager:make", "--ops", "1000")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("\nVerdict: nothing unexpected.\n")
    assert "its manager has no method `snapshot`" in ended.stdout
    assert not (folder / ".pagedkv").exists()


def test_a_fault_is_explained_and_can_be_shown_again(process: Process, folder: Path) -> None:
    ended = process("check", LEAKY, "--ops", "1000")
    assert (ended.returncode, ended.stderr) == (1, "")
    told = ended.stdout
    assert "Fault 1 of 1, met by " in told
    assert "Worker/reads_its_prefix is broken by end_pass with full" in told
    assert "Every position that a step reads holds the KV" in told
    assert "Because: request r" in told
    assert "  1. " in told and ". submit r" in told
    assert told.endswith("\nVerdict: 1 fault.\n")
    assert_in_order(shown_in_readme(), told)
    (trace,) = (folder / ".pagedkv" / "traces").iterdir()
    (again,) = [line for line in told.splitlines() if line.startswith("Again: ")]
    arguments = again.removeprefix("Again: pagedkv ").split()
    assert arguments == ["replay", str(trace.relative_to(folder)), "--on", LEAKY]
    shown = process(*arguments)
    assert shown.returncode == 1
    assert shown.stdout.startswith("Worker/reads_its_prefix is broken by end_pass with full\n")


def test_a_report_has_everything_that_was_told(process: Process, folder: Path) -> None:
    ended = process("check", LEAKY, "--ops", "1000", "--seed", "3", "--report", "out")
    assert ended.returncode == 1
    report = read_report(folder / "out")
    assert (report["verdict"], report["exit_code"], report["asked"]["seed"]) == ("faults", 1, 3)
    assert report["operations"] >= 1000
    (fault,) = report["faults"]
    assert (fault["clause"], fault["operation"], fault["groups"]) == (
        "Worker/reads_its_prefix",
        "end_pass",
        "full",
    )
    assert fault["is_minimal"]
    assert fault["expected"] is None
    assert fault["because"] in ended.stdout
    trace = read_trace(folder / "out" / fault["trace"])
    assert len(trace.steps) == len(fault["steps"])
    assert all(step in ended.stdout for step in fault["steps"])
    assert fault["again"] in ended.stdout
    assert not (folder / ".pagedkv").exists()


def test_a_few_mixes_are_told_one_by_one_on_screen_and_in_the_report(process: Process, folder: Path) -> None:
    few = ("--groups", "mamba", "--groups", "full")
    ended = process("check", "reference", "--ops", "600", *few, "--report", "out")
    assert ended.returncode == 0
    report = read_report(folder / "out")
    assert [mix["groups"] for mix in report["mixes"]] == ["mamba", "full"]
    assert sum(mix["lives"] for mix in report["mixes"]) == report["runs"]
    assert sum(mix["operations"] for mix in report["mixes"]) == report["operations"]
    assert (report["mixes"][1]["waits"], report["mixes"][1]["copies"]) == (None, None)
    assert report["untaken_mixes"] == []
    # Cells are whole, although no line of text is as long.
    rows = [line.strip("│").split("│") for line in ended.stdout.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert cells == [
        [
            "-" if value is None else f"{value:,}" if isinstance(value, int) else value
            for value in mix.values()
        ]
        for mix in report["mixes"]
    ]


def test_many_mixes_are_told_in_short_unless_the_table_is_asked_for(process: Process) -> None:
    short = process("check", "reference", "--ops", "100")
    assert (short.returncode, short.stderr) == (0, "")
    assert f"seed 0, {len(MIXES)} mixes of groups.\n" in short.stdout
    assert f"\nMixes        {len(MIXES)}, and the least " in short.stdout
    assert "│" not in short.stdout
    whole = process("check", "reference", "--ops", "100", "--table")
    assert whole.returncode == 0
    rows = [line.split("│") for line in whole.stdout.splitlines() if line.startswith("│")]
    assert [row[1].strip() for row in rows] == list(MIXES)
    # Here runs are few and mixes many: most had no life.
    assert {row[2].strip() for row in rows} == {"0", "1"}


@pytest.mark.parametrize("field", ["faults", "asked", "verdict", "behaviours", "mixes"])
def test_the_schema_misses_a_field(field: str) -> None:
    with pytest.raises(jsonschema.ValidationError, match=f"'{field}' is a required property"):
        jsonschema.validate(
            {name: None for name in report_schema()["required"] if name != field}, report_schema()
        )


def test_an_expected_fault_is_no_failure(process: Process, folder: Path) -> None:
    (folder / "known.toml").write_text(
        '[[expect]]\nclause = "Worker/reads_its_prefix"\nreason = "keys outlive their blocks"\n'
        'link = "https://tracker.example/7"\n'
        '[[expect]]\nclause = "Pool/no_leak"\nreason = "was mended"\n'
    )
    ended = process("check", LEAKY, "--ops", "1000", "--expect", "known.toml", "--report", "out")
    assert ended.returncode == 0
    # Wherever lines were broken.
    told = " ".join(ended.stdout.split())
    assert "Expected Worker/reads_its_prefix in end_pass with full: " in told
    assert ": keys outlive their blocks (https://tracker.example/7)" in told
    assert "no run met Pool/no_leak in * with * (was mended)" in told
    assert ended.stdout.endswith("\nVerdict: nothing unexpected; 1 known fault.\n")
    report = read_report(folder / "out")
    assert [fault["expected"]["link"] for fault in report["faults"]] == ["https://tracker.example/7"]
    assert [line["clause"] for line in report["unmatched_expectations"]] == ["Pool/no_leak"]
    assert report["masked_runs"] == report["faults"][0]["times"]


def test_a_report_that_cannot_be_written_is_told_after_the_verdict(process: Process, folder: Path) -> None:
    (folder / "taken").write_text("no folder")
    ended = process("check", LEAKY, "--ops", "1000", "--report", "taken/out")
    assert ended.returncode == 2
    assert ended.stdout.endswith("\nVerdict: 1 fault.\n")
    told = ended.stderr.splitlines()
    assert told == [
        "pagedkv: taken/out cannot be made (Not a directory): only the verdict will be left",
        "pagedkv: the report cannot be written to taken/out/traces (Not a directory): "
        "name another folder with --report",
    ]


def test_a_full_disk_is_told_after_the_verdict(process: Process, folder: Path) -> None:
    (folder / ".pagedkv" / "traces").mkdir(parents=True)
    (folder / "full.py").write_text(
        "import resource\nfrom examples.leaky_manager import LeakyManager as make\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    )
    ended = process("check", "full:make", "--ops", "1000")
    assert ended.returncode == 2
    assert ended.stdout.endswith("\nVerdict: 1 fault.\n")
    assert ended.stderr.startswith(
        "pagedkv: the traces cannot be written to .pagedkv/traces (File too large)"
    )
    assert list((folder / ".pagedkv" / "traces").iterdir()) == []


def test_a_random_seed_is_told_and_gives_the_same_runs_again(process: Process) -> None:
    drawn = process("check", "examples.own_manager:make", "--ops", "200", "--seed", "random")
    seed = drawn.stdout.partition("seed ")[2].partition(",")[0]
    again = process("check", "examples.own_manager:make", "--ops", "200", "--seed", seed, "--jobs", "1")
    assert seed.isdecimal()
    runs = [next(line for line in e.stdout.splitlines() if " runs with " in line) for e in (drawn, again)]
    assert [line.partition(" operations")[0] for line in runs] == [runs[0].partition(" operations")[0]] * 2


@pytest.mark.parametrize(
    ("body", "because"),
    [
        ("os._exit(3)", "the process died with exit code 3"),
        ("time.sleep(60)", "no answer within 0.4 s"),
    ],
    ids=["dies", "hangs"],
)
def test_a_process_that_ends_is_a_fault_that_can_be_shown_again(
    process: Process, folder: Path, body: str, because: str
) -> None:
    (folder / "ending.py").write_text(
        "import os, time\nfrom examples.own_manager import OwnManager\n"
        "class make(OwnManager):\n    def allocate(self, request, n):\n"
        f"        {body}\n"
    )
    few = ("--ops", "1", "--timeout", "0.4", "--jobs", "1", "--report", "out")
    ended = process("check", "ending:make", *few)
    assert ended.returncode == 1
    assert f"Because: {because}" in ended.stdout
    # The last step ended it: all before it went fine.
    steps = read_report(folder / "out")["faults"][0]["steps"]
    assert [step.endswith(": the process ended") for step in steps] == [*[False] * (len(steps) - 1), True]
    assert all(f"  {number}. {step}\n" in ended.stdout for number, step in enumerate(steps, 1))
    (trace,) = (folder / "out" / "traces").iterdir()
    assert read_trace(trace).steps[-1].outcome is None
    shown = process("replay", trace, "--on", "ending:make", "--timeout", "5")
    assert shown.returncode == 1
    assert f"Because: {because}" in shown.stdout
    assert shown.stdout.splitlines()[-1].startswith("It happened again: ")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "termination"])
def test_an_interrupted_check_keeps_what_it_found(folder: Path, stop: signal.Signals) -> None:
    (folder / "counted.py").write_text(
        "from multiprocessing import parent_process\nfrom examples.leaky_manager import LeakyManager\n"
        "class make(LeakyManager):\n    def __init__(self, world):\n        super().__init__(world)\n"
        "        if parent_process() is not None:\n            open('lives', 'a').write('.')\n"
    )
    # A process in the background of a script ignores interrupts, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    arguments = ["check", "counted:make", "--ops", "100000000", "--jobs", "1", "--report", "out"]
    running = subprocess.Popen(
        [sys.executable, "-m", "pagedkv", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # A child is at most 4 lives ahead of what was judged, and has tried the factory: one was judged.
    lives = folder / "lives"
    deadline = time.monotonic() + 60
    while not lives.exists() or lives.stat().st_size < 7:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # As a terminal does: to all processes.
    os.killpg(running.pid, stop) if stop is signal.SIGINT else running.send_signal(stop)
    told, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (130, "")
    assert "Fault 1 of 1, met by " in told
    assert told.splitlines()[-1].startswith("Verdict: interrupted after ")
    report = read_report(folder / "out")
    assert (report["verdict"], report["exit_code"]) == ("interrupted", 130)
    assert (folder / "out" / report["faults"][0]["trace"]).exists()


def test_a_check_that_cannot_go_on_tells_what_it_has_found(process: Process, folder: Path) -> None:
    (folder / "tired.py").write_text(
        "from multiprocessing import parent_process\nfrom examples.leaky_manager import LeakyManager\n"
        "lives = 0\ndef make(world):\n    global lives\n    lives += 1\n"
        "    if lives > 20 and parent_process() is not None:\n        raise MemoryError('no more')\n"
        "    return LeakyManager(world)\n"
    )
    ended = process("check", "tired:make", "--ops", "100000", "--jobs", "1", "--report", "out")
    assert ended.returncode == 2
    assert "Fault 1 of 1, met by " in ended.stdout
    last = ended.stdout.splitlines()[-1]
    assert last.startswith("Verdict: stopped after ") and last.endswith(" runs; until then 1 fault.")
    assert ended.stderr.startswith("pagedkv: 'tired:make' raised MemoryError when a manager for full with ")
    report = read_report(folder / "out")
    assert (report["verdict"], report["exit_code"]) == ("stopped", 2)
    assert report["stopped"] in ended.stderr


def test_whoever_watches_sees_how_far_it_is(folder: Path) -> None:
    reader, writer = os.openpty()
    arguments = ["check", "examples.own_manager:make", "--ops", "400"]
    running = subprocess.Popen(
        [sys.executable, "-m", "pagedkv", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=writer,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
    )
    os.close(writer)
    # A terminal holds little: whoever does not read along makes the writer wait.
    parts = []
    with suppress(OSError), os.fdopen(reader, "rb", buffering=0) as terminal:
        while part := terminal.read(1000):
            parts.append(part)
    seen = b"".join(parts).decode()
    assert running.wait() == 0
    assert "of 400 operations, " in seen
    assert "0 faults" in seen
