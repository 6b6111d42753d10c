"""A process that makes failing runs smaller: a subject that dies or hangs in it harms nothing else."""

from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess

from pagedkv.conformance.subject_names import subject_named
from pagedkv.conformance.subjects import SubjectUnavailable

from .processes import packed, spawned, unpacked
from .runs import Run
from .smallest import smallest


def _shrink(subject_name: str, pipe: Connection) -> None:
    subject = subject_named(subject_name)
    try:
        while True:
            run = unpacked(pipe.recv())
            try:
                pipe.send(packed(smallest(run, subject)))
            except SubjectUnavailable:
                pipe.send(None)
    except (EOFError, BrokenPipeError):
        # Whoever asked is gone.
        return


class Shrinker:
    """Makes runs of one subject smaller, in a process that starts with the first of them."""

    def __init__(self, subject_name: str, seconds: float) -> None:
        self._subject_name = subject_name
        self._seconds = seconds
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def smallest(self, run: Run) -> Run | None:
        """The smallest run that shows the fault of this one.

        None if the process died or took too long, or the subject could not be made again.
        """
        if self._pipe is None:
            self._process, self._pipe = spawned(_shrink, self._subject_name)
        try:
            self._pipe.send(packed(run))
            if self._pipe.poll(self._seconds):
                answer = self._pipe.recv()
                return unpacked(answer) if answer else None
            # It hangs.
            self.stop()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            # It died.
            self.stop()
        return None

    def stop(self) -> None:
        """End the process."""
        if self._process is not None and self._pipe is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None
