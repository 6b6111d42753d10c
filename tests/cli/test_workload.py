"""`pagedkv workload` and `pagedkv workload-trace`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pagedkv.conformance.workload.trace import read_requests

from .conftest import Command, Process

HYBRID = ("--groups", "full:256,mamba:512", "--blocks", "60", "--max-running", "8", "--laws", "every=97")


def test_a_made_trace_is_replayed(command: Command, folder: Path) -> None:
    made = command("workload-trace", "small.jsonl", "--requests", "12", "--seed", "1")
    assert (made.exit_code, made.output) == (0, "small.jsonl: 12 requests, seed 1\n")
    told = command("workload", "small.jsonl", *HYBRID)
    assert told.exit_code == 0, told.output
    prompts = sum(request.input_length for request in read_requests(folder / "small.jsonl"))
    assert told.output.startswith("Replaying 12 requests of small.jsonl on reference 0.1.0: groups full:256,")
    assert "a pass for 50 ms of trace time; judged by the laws on every 97th move and a worker" in told.output
    assert "\nRequests      12 served in " in told.output
    assert f" of {prompts:,} tokens\n" in told.output
    for figure in ("Hit rate", "Evictions", "Peak blocks", "Preemptions", "Partial hits", "Copies"):
        assert f"\n{figure:14}" in told.output
    assert told.output.endswith("\n\nVerdict: no clause broke.\n")
    assert {path.name for path in folder.iterdir()} == {"examples", "small.jsonl"}


def test_json_has_the_same_figures_and_only_json_is_printed(command: Command, folder: Path) -> None:
    command("workload-trace", "small.jsonl", "--requests", "12")
    told = command("workload", "small.jsonl", *HYBRID, "--closed-loop", "--limit", "8", "--json")
    assert told.exit_code == 0
    report = json.loads(told.output)
    figures = report["figures"]
    assert (report["format"], report["requests"], report["closed_loop"]) == ("pagedkv-workload", 8, True)
    assert (report["groups"], report["laws_every"], report["breach"]) == ("full:256,mamba:512", 97, None)
    assert figures["requests"] == 8
    assert report["checked_moves"] == figures["moves"] // 97 > 0
    text = command("workload", "small.jsonl", *HYBRID, "--closed-loop", "--limit", "8").output
    assert f"{figures['hit_tokens']:,} of {figures['prompt_tokens']:,} tokens" in text
    assert f"with {figures['moves']:,} moves" in text
    assert f"\nEvictions     {figures['evictions']:,}\n" in text


def test_the_same_seed_writes_the_same_trace_in_every_process(process: Process, folder: Path) -> None:
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        ended = process("workload-trace", name, "--requests", "50", "--seed", seed)
        assert (ended.returncode, ended.stderr) == (0, "")
    texts = [(folder / name).read_text() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


def test_a_broken_clause_is_told_with_its_move_and_ends_with_1(command: Command, folder: Path) -> None:
    (folder / "blind.py").write_text(
        "from pagedkv.reference import KVCacheManager\n"
        "class make(KVCacheManager):\n"
        "    def get_computed_blocks(self, request):\n"
        "        return self.create_kv_cache_blocks(((),)), 0, 0\n"
    )
    command("workload-trace", "small.jsonl", "--requests", "12")
    asked = ["workload", "small.jsonl", "--on", "blind:make", "--groups", "full:512", "--hash-unit", "512"]
    asked += ["--blocks", "100", "--closed-loop", "--laws", "every=1"]
    told = command(*asked)
    assert told.exit_code == 1
    assert "\nHit/longest is broken by admit with full\n  " in told.output
    assert "\n  Because: the hit is 0, not " in told.output
    assert "\n  In move " in told.output
    assert told.output.endswith("\nVerdict: a clause broke.\n")
    report = json.loads(command(*asked, "--json").output)
    assert (report["breach"]["clause"], report["breach"]["move"]) == (
        "Hit/longest",
        report["figures"]["moves"],
    )
    unjudged = command(*asked[:-1], "off")
    assert unjudged.exit_code == 0
    assert "judged by nobody" in unjudged.output
    assert unjudged.output.endswith("\nVerdict: every request was served; nobody judged.\n")


def test_a_manager_with_the_least_interface_is_replayed(command: Command, folder: Path) -> None:
    command("workload-trace", "small.jsonl", "--requests", "12")
    asked = ("workload", "small.jsonl", "--on", "examples.own_manager:make", "--blocks", "60")
    told = command(*asked, "--groups", "full:256", "--hash-unit", "256")
    assert told.exit_code == 0, told.output
    assert "\nEvictions     not told by this manager\n" in told.output
    refused = command(*asked)
    assert refused.exit_code == 2
    assert "examples.own_manager:make manages full and not full+mamba: name such groups" in refused.output


def test_a_request_that_cannot_fit_is_named_before_anything_runs(command: Command, folder: Path) -> None:
    line = {"timestamp": 0, "input_length": 600, "output_length": 3, "hash_ids": [1, 2]}
    big = {**line, "input_length": 51_200, "hash_ids": list(range(100))}
    (folder / "big.jsonl").write_text(json.dumps(line) + "\n" + json.dumps(big) + "\n")
    told = command("workload", "big.jsonl", "--groups", "full:512", "--hash-unit", "512", "--blocks", "101")
    assert told.exit_code == 2
    assert told.output == (
        "pagedkv: big.jsonl, line 2: the request needs up to 101 blocks for its 51203 tokens, and a pool of "
        "101 has 100 beside the null block: raise --blocks to 102, or stop before it with --limit\n"
    )
    more = ("workload", "big.jsonl", "--groups", "full:512", "--hash-unit", "512", "--blocks", "102")
    assert command(*more).exit_code == 0


def test_an_interrupt_prints_what_was_counted(process: Process, folder: Path) -> None:
    process("workload-trace", "long.jsonl", "--requests", "2000")
    arguments = ("workload", "long.jsonl", "--groups", "full:64", "--laws", "off")
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "pagedkv", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("Replaying ")
        time.sleep(0.5)
        os.kill(running.pid, signal.SIGINT)
        told, _ = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "\nHit rate " in told
    assert told.endswith("\nVerdict: interrupted; the figures are those until then.\n")
