"""Faults of the scheduler."""

from pagedkv.conformance.faults.fault import PlantedFault
from pagedkv.conformance.faults.patching import Patch
from pagedkv.conformance.worlds import MIXES_WITHOUT_WINDOWS
from pagedkv.spec.clauses import Clause, chunk, schedule

_EVERYWHERE = "Every life under the scheduler may show it."


def planted(
    name: str,
    does: str,
    stands_for: str,
    file: str,
    old: str,
    new: str,
    clause: Clause,
    mixes: tuple[str, ...] = MIXES_WITHOUT_WINDOWS,
    options: tuple[str, ...] = (),
) -> PlantedFault:
    """A fault of the scheduler, in a file of the model."""
    patch = Patch(f"reference/{file}.py", old, new)
    return PlantedFault(name, does, stands_for, patch, (clause,), _EVERYWHERE, mixes=mixes, options=options)


FAULTS = (
    planted(
        "split-tells-to-wait",
        "The chunk rule always answers 0.",
        "A model with aligned states hangs on a prompt.",
        "scheduler_rules",
        "return chunk_tokens(",
        "return 0 * chunk_tokens(",
        chunk.PROGRESSES,
    ),
    planted(
        "chunks-are-not-cut",
        "Models with states get the whole budget.",
        "States are kept where nobody looks for them.",
        "scheduler_pass",
        "if num_new <= 0 or not self.cache_config.block_size:",
        "if True:",
        chunk.ENDS_ON_A_STATE,
    ),
    planted(
        "budget-is-not-spent",
        "Each request gets the whole budget.",
        "A step has more tokens than its buffers hold.",
        "scheduler_pass",
        "self._budget -= num_new",
        "self._budget -= 0",
        schedule.WITHIN_BUDGET,
    ),
    planted(
        "one-more-runs",
        "One more request runs than may.",
        "A step has more requests than its buffers hold.",
        "scheduler_pass",
        "len(queues.running) < self.max_num_running_reqs",
        "len(queues.running) <= self.max_num_running_reqs",
        schedule.WITHIN_BUDGET,
    ),
    planted(
        "latest-are-asked-first",
        "Those that run are asked from the last to the first.",
        "Old requests starve.",
        "scheduler_pass",
        "for entry in tuple(self.queues.running):",
        "for entry in self.queues.running[::-1]:",
        schedule.RUNNING_FIRST,
    ),
    planted(
        "asks-once",
        "Who was refused does not ask again after another gave way.",
        "Blocks are taken from one request and given to none.",
        "scheduler_pass",
        "                self._preempt()\n",
        "                self._preempt()\n                break\n",
        schedule.RUNNING_FIRST,
    ),
    planted(
        "preempted-come-back-last",
        "Who gave way waits behind all others.",
        "A preempted request waits while later ones run.",
        "queues",
        "self.waiting.insert(0 if is_preempted else len(self.waiting), entry)",
        "self.waiting.append(entry)",
        schedule.IN_TURN,
    ),
    planted(
        "priorities-do-not-count",
        "Under priorities the order is that of arrival.",
        "An urgent request waits.",
        "queues",
        "insort(self.waiting, entry, key=Entry.rank)",
        "insort(self.waiting, entry, key=lambda entry: entry.arrival)",
        schedule.IN_TURN,
    ),
    planted(
        "preempted-are-lost",
        "Who gave way is in no queue.",
        "A preempted request never answers.",
        "scheduler_pass",
        "self.queues.preempt(victim)",
        "self.queues.running.remove(victim)",
        schedule.IN_TURN,
    ),
    planted(
        "first-gives-way",
        "The oldest gives way.",
        "Requests take each other's blocks in turn, and none ends.",
        "queues",
        "return reversed(sorted",
        "return iter(sorted",
        schedule.LAST_GIVES_WAY,
    ),
    planted(
        "victims-are-not-withdrawn",
        "Work of this pass is not withdrawn from who gives way.",
        "Keys stay that nobody fills.",
        "scheduler_pass",
        "withdraw=entry.request.request_id in self._scheduled",
        "withdraw=False",
        schedule.WITHDRAWS_ITS_PASS,
    ),
    planted(
        "victims-are-sent",
        "Work of this pass is sent although it was withdrawn.",
        "A step writes into blocks of others.",
        "scheduler_pass",
        "self._scheduled.pop(request.request_id, None)",
        "self._scheduled.get(request.request_id)",
        schedule.WITHDRAWS_ITS_PASS,
    ),
    planted(
        "budget-is-not-given-back",
        "The tokens of withdrawn work are lost for the pass.",
        "Steps are smaller than they may be.",
        "scheduler_pass",
        "self._budget += part.num_tokens if part else 0",
        "self._budget += 0",
        schedule.WITHDRAWS_ITS_PASS,
        mixes=("full",),
        options=("max_drafts",),
    ),
    planted(
        "admits-after-preemption",
        "Requests are admitted in a pass in which one gave way.",
        "Requests take each other's blocks in turn.",
        "scheduler",
        "if not self._preempted:",
        "if self.queues.waiting:",
        schedule.NOBODY_AFTER_PREEMPTION,
    ),
    planted(
        "refuses-what-just-fits",
        "A request that needs the whole pool is refused.",
        "A request is refused that could be served.",
        "scheduler",
        "needed <= usable",
        "needed < usable",
        schedule.NEVER_FITS,
    ),
    planted(
        "never-ends",
        "A request with all its output goes on.",
        "Finished requests hold their blocks.",
        "scheduler",
        "num_processed >= entry.num_tokens_to_compute",
        "num_processed > entry.num_tokens_to_compute",
        schedule.EVERYBODY_ENDS,
    ),
)
