"""What a replay counts."""

from dataclasses import dataclass, fields
from typing import Any

from pagedkv.conformance.loop import LoopState
from pagedkv.spec.moves import Admit, BeginPass, EndPass, Finish, Move, Preempt, Schedule
from pagedkv.spec.outcomes import Allocated, Outcome, Stepped
from pagedkv.spec.snapshot import Rows
from pagedkv.spec.world import Prompt


@dataclass
class Figures:
    """Counts over a whole replay. None: the manager does not tell."""

    requests: int = 0
    """Requests that have all their output."""
    passes: int = 0
    moves: int = 0
    prompt_tokens: int = 0
    """Of the requests that were admitted."""
    hit_tokens: int = 0
    """Of these prompts, how much was cached at the first admission."""
    output_tokens: int = 0
    """Of the requests that have all their output."""
    evictions: int | None = 0
    """Blocks that were taken for reuse and had a key when they were let go."""
    peak_blocks: int | None = 0
    """The most blocks held after an allocation, copies under way among them."""
    preemptions: int = 0
    partial_hits: int = 0
    """Admissions, later ones too, with a hit that ends inside a block of some group."""
    copies: int = 0
    """Block copies that the worker was sent."""
    hand_offs: int = 0
    """Partial states that were handed over."""
    served: int = 0
    """Calls for slots that gave some."""
    refused: int = 0
    """Calls for slots that were answered None."""

    @property
    def hit_rate(self) -> float:
        """The cached share of the prompts' tokens; 0.0 without any."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    def as_json(self) -> dict[str, Any]:
        """All of them by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"hit_rate": self.hit_rate}


class Counting:
    """Counts the moves of one life; looks at the manager through its cheap public views only."""

    def __init__(self, state: LoopState) -> None:
        self._state = state
        self.figures = Figures()
        self._prompts: dict[str, Prompt] = {}
        """By request that was admitted."""
        self._held: dict[str, set[int]] = {}
        """By running request, the blocks that it lets go when it ends."""
        self._cached: set[int] = set()
        """Blocks that had a key when somebody let them go, and were not taken since."""

    def count(self, move: Move, outcome: Outcome) -> None:
        """Take in a move that was done."""
        figures = self.figures
        figures.moves += 1
        match move, outcome:
            case BeginPass(), _:
                figures.passes += 1
            case (Preempt(request), _) | (Finish(request), _):
                figures.preemptions += isinstance(move, Preempt)
                self._let_go(self._held.pop(request))
                if isinstance(move, Finish):
                    prompt = self._prompts[request]
                    figures.requests += 1
                    figures.output_tokens += len(prompt.tokens) - prompt.length
            case EndPass(), Stepped(copies, hand_offs):
                figures.copies += len(copies)
                figures.hand_offs += len(hand_offs)
                # An owner's private block is in no answer.
                self._take({destination for _, destination in copies})
                self._let_go({block for copy in copies for block in copy})
            case Admit() | Schedule(), Allocated():
                self._count_allocation(move, outcome)

    def _count_allocation(self, move: Admit | Schedule, outcome: Allocated) -> None:
        figures, world = self.figures, self._state.world
        if outcome.rows is None:
            figures.refused += 1
            return
        figures.served += 1
        found = outcome.found
        hit = _blocks(found.rows) if found else set()
        self._take(_blocks(outcome.rows) - hit)
        num_free = self._state.instance.num_free_blocks()
        if num_free is None:
            figures.peak_blocks = None
        elif figures.peak_blocks is not None:
            figures.peak_blocks = max(figures.peak_blocks, world.num_blocks - 1 - num_free)
        if isinstance(move, Admit) and found:
            figures.partial_hits += any(found.hit % group.block_size for group in world.groups)
        if move.request not in self._prompts:
            prompt = world.prompts[self._state.lives[move.request].prompt]
            self._prompts[move.request] = prompt
            figures.prompt_tokens += prompt.length
            figures.hit_tokens += found.hit if found else 0
        self._note_held(move.request, outcome.rows)

    def _note_held(self, request: str, answered: Rows) -> None:
        """Full attention lets nothing go while a request runs: what is answered is all that is new."""
        held = self._held.get(request)
        lets_go = any(group.kind not in ("full", "latent") for group in self._state.world.groups)
        if held is not None and not lets_go:
            held |= _blocks(answered)
            return
        now = _blocks(self._state.instance.table(self._state.lives[request]))
        if held is not None:
            self._let_go(held - now)
        self._held[request] = now

    def _take(self, blocks: set[int]) -> None:
        taken = self._cached & blocks
        self._cached -= taken
        if self.figures.evictions is not None:
            self.figures.evictions += len(taken)

    def _let_go(self, blocks: set[int]) -> None:
        keyed = self._state.instance.keyed(blocks)
        if keyed is None:
            self.figures.evictions = None
        else:
            self._cached -= blocks
            self._cached.update(keyed)


def _blocks(rows: Rows) -> set[int]:
    return {block for row in rows for block in row if block}
