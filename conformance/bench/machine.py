"""Where something was measured."""

import os
import platform
import sys
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class Machine:
    """What the times depend on, beside the managers."""

    python: str
    torch: str | None
    system: str
    processor: str
    cores: int
    load: float | None
    """How many processes wanted to run in the last minute; None where the system does not tell."""
    gpu: str | None

    @classmethod
    def here(cls, device: str) -> Self:
        """This machine, now. Torch is looked for among what has been imported."""
        torch = sys.modules.get("torch")
        on_gpu = torch is not None and device.startswith("cuda")
        return cls(
            platform.python_version(),
            torch.__version__ if torch else None,
            platform.platform(terse=True),
            _processor(),
            os.cpu_count() or 1,
            round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
            torch.cuda.get_device_name(device) if torch and on_gpu else None,
        )

    def in_words(self) -> str:
        """In one line."""
        parts = [
            f"Python {self.python}",
            self.torch and f"torch {self.torch}",
            f"{self.cores} x {self.processor}",
            self.gpu,
            self.system,
            self.load is not None and f"load {self.load}",
        ]
        return ", ".join(part for part in parts if part)


def _processor() -> str:
    """The processor's own name where the system tells, else the architecture."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
