"""What the room's README shows runs as it stands there."""

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[2] / "impl" / "README.md"


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["served"] == [True, True]
    assert names["hit"] == 32
