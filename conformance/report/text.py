"""A report as text: every unexpected fault, then what the check was, then the verdict."""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from pagedkv.conformance import coverage
from pagedkv.conformance.campaign.campaign import Exit, Finding
from pagedkv.conformance.campaign.expectations import Expectation
from pagedkv.conformance.explain import explain_finding
from pagedkv.conformance.subjects import Strictness, Subject
from pagedkv.conformance.wording import printable

from .behaviours import are_counted
from .mixes import in_words, some
from .report import Asked, Report

_LABEL = 13
_COLUMN = 40
FEW_MIXES = 8
"""Mixes that are told one by one: more fill the screen, and hide what else is told."""

_JUDGES: Mapping[Strictness, str] = {
    "exact": "the laws, what a worker reads, and the reference, block by block",
    "renamed": "the laws, what a worker reads, and the reference, up to names of blocks",
    "safety": "the laws and what a worker reads",
}


def opening(subject: Subject, asked: Asked) -> str:
    """What is about to be done, in one sentence."""
    return printable(
        f"Checking {title(subject)} by {judges(subject)}: {asked.operations:,} operations, "
        f"seed {asked.seed}, {_groups(asked)}."
    )


def judges(subject: Subject) -> str:
    """Who decides whether the subject is right."""
    if not are_counted(subject):
        return "what a worker reads"
    # The reference is not compared with itself.
    return _JUDGES["safety" if subject.name == "reference" else subject.strictness]


def title(subject: Subject) -> str:
    """Name and, if known, version."""
    return subject.name if subject.version == "unknown" else f"{subject.name} {subject.version}"


def fault_texts(report: Report) -> Iterator[tuple[str, str]]:
    """For each unexpected fault a headline and its explanation."""
    unexpected = report.verdict.unexpected
    for number, finding in enumerate(unexpected, 1):
        headline = (
            f"Fault {number} of {len(unexpected)}, met by {finding.times} of {report.verdict.runs} runs"
        )
        trace = report.traces[finding.fault]
        yield headline, explain_finding(finding, report.subject, report.asked.seed, trace)


def is_short(asked: Asked) -> bool:
    """Whether the mixes are few enough to be told one by one."""
    return len(asked.mixes) <= FEW_MIXES


def mixes_in_words(report: Report, width: int) -> list[str]:
    """The table of mixes in as few lines as can be."""
    return _entry("Mixes", list(in_words(report.mixes)), width)


def summary(report: Report, width: int) -> list[str]:
    """What the check was and what it did not see, without the verdict; lines of at most ``width``."""
    verdict, subject, asked = report.verdict, report.subject, report.asked
    lines = _entry("Subject", [f"{title(subject)}, strictness {subject.strictness}"], width)
    lines += _entry(
        "Runs",
        [
            f"{_count(verdict.runs, 'run')} with {verdict.operations:,} operations "
            f"in {report.seconds:.1f} s, seed {asked.seed}, {_groups(asked)}"
        ],
        width,
    )
    lines += _entry("Faults", [_found(finding) for finding in verdict.unexpected], width)
    lines += _entry("Expected", [_expected(finding) for finding in report.expected], width)
    lines += _entry("Masked", _masked(report), width)
    lines += _entry("Unmatched", [_unmatched(line) for line in verdict.unmatched], width)
    avoided = sorted({line.avoid for line in asked.expectations if line.avoid})
    lines += _entry("Left out", [f"{', '.join(avoided)}, as the expectations ask"] if avoided else [], width)
    lines += _entry("Skipped", _skipped(subject.missing), width)
    lines += _entry("Worlds", [*_refused(report.refused), *_untaken(verdict.untaken)], width)
    lines += _behaviours(report, width)
    return [printable(line) for line in lines]


def conclusion(report: Report) -> str:
    """The verdict in one sentence or two."""
    verdict = report.verdict
    faults, known = len(verdict.unexpected), len(report.expected)
    found = f"{_count(faults, 'fault')}{' that no line expects' if known else ''}"
    parts = []
    if verdict.was_interrupted or report.stopped:
        how = "stopped" if report.stopped else "interrupted"
        parts.append(f"{how} after {_count(verdict.runs, 'run')}; until then {found}.")
    elif faults:
        parts.append(f"{found}.")
    elif report.not_shown:
        parts.append("no fault, but that proves too little.")
    else:
        parts.append(
            f"nothing unexpected; {_count(known, 'known fault')}." if known else "nothing unexpected."
        )
    without = sum(row["lives"] == 0 for row in report.mixes.values())
    if without and report.came_to_its_end and "lives" not in report.each_mix_must_show:
        advice = ": --profile ci has some of each" if report.asked.profile == "quick" else ""
        parts.append(f"{without} of {len(report.mixes)} mixes of groups had no life{advice}.")
    parts += [f"The run has not shown: {behaviour}." for behaviour in report.behaviours_not_shown]
    parts += [
        f"The run has not shown: {column} with {some(mixes)}."
        for column, mixes in report.mixes_not_shown.items()
    ]
    return " ".join(parts)


def is_good(report: Report) -> bool:
    """Whether the check found nothing unexpected and showed what it had to."""
    return report.exit_code is Exit.FOUND_NOTHING


def _entry(label: str, texts: Sequence[str], width: int) -> list[str]:
    """A labelled part: each text wrapped and indented behind the label; nothing without texts."""
    lines = []
    for text in filter(None, texts):
        # Behind long words lines may be longer: a link stays whole.
        lines += wrap(text, max(width - _LABEL, 20), break_long_words=False, break_on_hyphens=False)
    return [f"{label if i == 0 else '':{_LABEL}}{line}" for i, line in enumerate(lines)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _found(finding: Finding) -> str:
    return f"{finding.fault}: {_count(finding.times, 'time')}"


def _expected(finding: Finding) -> str:
    line = finding.expected
    assert line is not None
    link = f" ({line.link})" if line.link else ""
    return f"{_found(finding)}: {line.reason}{link}"


def _masked(report: Report) -> list[str]:
    masked = report.verdict.masked_runs
    if not masked:
        return []
    text = f"{masked:,} of {_count(report.verdict.runs, 'run')} ended at an expected fault"
    if report.is_mostly_masked:
        text += (
            ": MORE THAN HALF, so what comes after these faults was hardly checked. An expectation can leave "
            "out what leads to its fault: see `avoid`"
        )
    return [text]


def _unmatched(line: Expectation) -> str:
    return (
        f"no run met {line.clause} in {line.operation} with {line.groups} ({line.reason}): "
        "if the fault is mended, take the line out"
    )


def _skipped(missing: Mapping[str, str]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for capability, reason in missing.items():
        by_reason.setdefault(reason, []).append(capability)
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def _refused(refused: Mapping[str, int]) -> list[str]:
    return [f"{_count(count, 'world')} left out: {reason}" for reason, count in refused.items()]


def _untaken(untaken: Mapping[str, str]) -> list[str]:
    return [f"none of {mix} was taken: {reason}" for mix, reason in untaken.items()]


def _groups(asked: Asked) -> str:
    return f"groups {', '.join(asked.mixes)}" if is_short(asked) else f"{len(asked.mixes)} mixes of groups"


def _behaviours(report: Report, width: int) -> list[str]:
    shown = report.verdict.shown
    if not are_counted(report.subject):
        return _entry("Behaviours", ["not counted: the manager does not tell its state"], width)
    entries = [f"{shown[name]:>9,}  {name}" for name in coverage.ALL if shown[name]]
    columns = max(1, width // _COLUMN)
    height = -(-len(entries) // columns)
    rows = ["".join(f"{entry:{_COLUMN}}" for entry in entries[row::height]).rstrip() for row in range(height)]
    absent = [name for name in coverage.ALL if not shown[name]]
    return [
        "Behaviours that occurred, and how often",
        *rows,
        *_entry("  Not once", [", ".join(absent)], width),
    ]
