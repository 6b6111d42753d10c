"""A fault is kept with the smallest life that showed it, even where the search for that was interrupted."""

from collections.abc import Iterator

import pytest

from pagedkv.conformance.campaign import campaign
from pagedkv.conformance.campaign.campaign import Finding, check
from pagedkv.conformance.campaign.children import Plan
from pagedkv.conformance.campaign.expectations import Avoided
from pagedkv.conformance.campaign.minimise import is_same
from pagedkv.conformance.campaign.runs import Run, random_run
from pagedkv.conformance.campaign.shrinker import Shrinker
from pagedkv.conformance.campaign.smallest import smallest
from pagedkv.conformance.faults.catalogue import all_faults
from pagedkv.conformance.faults.subject import faulty_subject
from pagedkv.conformance.subjects import Subject


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    fault = next(fault for fault in all_faults() if fault.name == "touched-block-stays-queued")
    with faulty_subject(fault) as faulty:
        yield faulty


@pytest.fixture(scope="module")
def runs(subject: Subject) -> list[Run]:
    """Lives that show one fault, the longest first."""
    all_runs = (random_run(subject, 0, number, ("full",), Avoided(frozenset())) for number in range(20))
    breaking = [run for run in all_runs if run.breaches]
    alike = [run for run in breaking if is_same(run, breaking[0])]
    return sorted(alike, key=lambda run: -len(run.moves))


def only_finding(
    monkeypatch: pytest.MonkeyPatch, subject: Subject, played: list[Run]
) -> tuple[Finding, list[int]]:
    """What a check makes of these runs, and how long the runs were that it made smaller."""
    made_smaller = []

    class Counted(Shrinker):
        def smallest(self, run: Run) -> Run:
            made_smaller.append(len(run.moves))
            return smallest(run, subject)

    def play(plan: Plan, jobs: int) -> Iterator[tuple[int, Run]]:
        yield from enumerate(played)

    monkeypatch.setattr(campaign, "Shrinker", Counted)
    monkeypatch.setattr(campaign, "play_in_children", play)
    verdict = check(subject, sum(run.operations for run in played), 0, ("full",))
    (finding,) = verdict.findings.values()
    assert finding.times == len(played)
    return finding, made_smaller


def test_a_shorter_run_may_give_a_smaller_life(
    monkeypatch: pytest.MonkeyPatch, subject: Subject, runs: list[Run]
) -> None:
    longest, shortest = runs[0], runs[-1]
    assert len(longest.moves) > len(shortest.moves)
    finding, made_smaller = only_finding(monkeypatch, subject, [longest, shortest, shortest])
    assert made_smaller == [len(longest.moves), len(shortest.moves)]
    least = min(len(smallest(run, subject).moves) for run in (longest, shortest))
    assert len(finding.run.moves) == least
    assert finding.is_minimal


def test_a_longer_run_is_only_counted(
    monkeypatch: pytest.MonkeyPatch, subject: Subject, runs: list[Run]
) -> None:
    finding, made_smaller = only_finding(monkeypatch, subject, [runs[-1], runs[0], runs[0]])
    assert made_smaller == [len(runs[-1].moves)]
    assert finding.number == 0


def test_a_fault_is_kept_when_the_search_for_a_smaller_life_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, subject: Subject, runs: list[Run]
) -> None:
    class Interrupted(Shrinker):
        def smallest(self, run: Run) -> Run:
            raise KeyboardInterrupt

    def play(plan: Plan, jobs: int) -> Iterator[tuple[int, Run]]:
        yield 7, runs[0]

    monkeypatch.setattr(campaign, "Shrinker", Interrupted)
    monkeypatch.setattr(campaign, "play_in_children", play)
    verdict = check(subject, 1000, 0, ("full",))
    assert verdict.was_interrupted
    (finding,) = verdict.findings.values()
    assert (finding.run, finding.number, finding.is_minimal) == (runs[0], 7, False)
