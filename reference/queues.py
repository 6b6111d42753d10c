"""Requests as the scheduler keeps them, and the order in which they wait and give way."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from pagedkv.spec import Request

Policy = Literal["fcfs", "priority"]
POLICIES: tuple[str, ...] = get_args(Policy)


@dataclass(eq=False)
class Entry:
    """A request that has not ended."""

    request: Request
    priority: int
    arrival: int
    max_num_tokens: int
    """Its length when it has all its output."""
    num_encoder_tokens: int = 0
    """What an encoder made of its input."""
    draft_token_ids: tuple[int, ...] = ()
    num_awaited_tokens: int = 0
    """Output tokens that steps in flight give."""
    admission: int = 0
    """Which of all admissions was its last."""

    @property
    def num_tokens_to_compute(self) -> int:
        """The last token of the output is read by nobody."""
        return max(self.request.num_prompt_tokens, self.max_num_tokens - 1)

    def rank(self) -> tuple[int, int]:
        """Who is served first under priorities, and gives way last."""
        return self.priority, self.arrival


@dataclass
class Queues:
    """Who waits and who runs (clauses Schedule/in_turn, Schedule/last_gives_way)."""

    policy: Policy
    waiting: list[Entry] = field(default_factory=list)
    """In the order in which they are to be admitted."""
    running: list[Entry] = field(default_factory=list)
    """In the order in which they were admitted."""

    def wait(self, entry: Entry, is_preempted: bool = False) -> None:
        """Let it wait."""
        if self.policy == "priority":
            insort(self.waiting, entry, key=Entry.rank)
        else:
            self.waiting.insert(0 if is_preempted else len(self.waiting), entry)

    def run_first(self) -> None:
        """Let the first that waits run."""
        self.running.append(self.waiting.pop(0))

    def preempt(self, entry: Entry) -> None:
        """Let one that runs wait again."""
        self.running.remove(entry)
        self.wait(entry, is_preempted=True)

    def remove(self, entry: Entry) -> None:
        """Let it go from where it is."""
        (self.running if entry in self.running else self.waiting).remove(entry)

    def victims(self) -> Iterator[Entry]:
        """Those that run, the first to give way first."""
        by_priority = self.policy == "priority"
        return reversed(sorted(self.running, key=Entry.rank) if by_priority else self.running)
