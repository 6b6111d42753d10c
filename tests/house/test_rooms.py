"""The import table and the sizes hold on this tree, and each check reports a fault planted in another."""

from pathlib import Path

import pytest

from . import rooms

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pagedkv"


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write files under a root that has every room, and return the root."""
    for name in rooms.ROOMS:
        (root / name).mkdir()
        (root / name / "__init__.py").touch()
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_the_table_has_a_row_for_every_room_of_the_package() -> None:
    assert {marker.parent.name for marker in PACKAGE.glob("*/__init__.py")} == set(rooms.ROOMS)


def test_imports_follow_the_table() -> None:
    assert rooms.import_breaches(ROOT) == []


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("spec/a.py", "import numpy", "spec needs only Python"),
        ("spec/a.py", "from pagedkv.reference import Pool", "spec may import no other room"),
        ("spec/rules/a.py", "from pagedkv.invariants import law", "spec may import no other room"),
        ("reference/a.py", "import hypothesis", "reference needs only Python"),
        ("reference/a.py", "from pagedkv.invariants import law", "reference may import spec"),
        ("reference/a.py", "def f():\n    from pagedkv.conformance.x import y", "reference may import spec"),
        (
            "reference/a.py",
            "import importlib\nimportlib.import_module('torch')",
            "reference needs only Python",
        ),
        ("reference/a.py", "from ..spec import Request", "relative imports stay in the room"),
        ("reference/a.py", "from .. import spec", "relative imports stay in the room"),
        ("reference/a.py", "import pagedkv.spec", "names are taken"),
        ("reference/a.py", "from pagedkv import spec", "names are taken"),
        ("invariants/a.py", "from pagedkv.reference import Pool", "invariants may import spec"),
        ("invariants/a.py", "from hypothesis import given", "invariants never imports hypothesis"),
        (
            "invariants/a.py",
            "from pagedkv.spec.rules.hits import hit",
            "invariants never imports pagedkv.spec.rules",
        ),
        (
            "invariants/a.py",
            "from pagedkv.spec.rules import hit",
            "invariants never imports pagedkv.spec.rules",
        ),
        ("invariants/a.py", "from pagedkv.spec import rules", "invariants never imports pagedkv.spec.rules"),
        (
            "conformance/a.py",
            "from pagedkv.tests import build",
            "conformance may import spec, reference, invariants, impl",
        ),
        ("impl/a.py", "from pagedkv.reference import BlockPool", "impl may import spec"),
        ("impl/a.py", "from pagedkv.invariants import law", "impl may import spec"),
        ("impl/a.py", "from pagedkv.spec.rules.hits import hit", "impl never imports pagedkv.spec.rules"),
        ("impl/a.py", "from pagedkv.spec.rules import hit", "impl never imports pagedkv.spec.rules"),
        ("impl/a.py", "import hypothesis", "impl needs only Python and torch and numpy"),
        ("reference/a.py", "from pagedkv.impl import BlockPool", "reference may import spec"),
    ],
)
def test_an_import_against_the_table_is_reported(tmp_path: Path, path: str, text: str, reason: str) -> None:
    breaches = rooms.import_breaches(plant(tmp_path, {path: text}))
    assert any(reason in breach for breach in breaches), breaches
    assert all(str(tmp_path / path) in breach for breach in breaches)


def test_a_rule_handed_on_by_another_module_is_reported(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "spec/rules/hits.py": "def hit() -> int: ...",
            "spec/rules/__init__.py": "from .hits import hit",
            "spec/__init__.py": "from .rules import hit\nfrom .words import word",
            "spec/words.py": "word = 1",
            "invariants/a.py": "from pagedkv.spec import hit",
            "invariants/b.py": "from pagedkv.spec import word",
        },
    )
    assert [breach.partition(": pagedkv")[0] for breach in rooms.import_breaches(root)] == [
        f"{root / 'invariants/a.py'}:1"
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("spec/a.py", "import json\nfrom .b import c\nfrom pagedkv.spec.d import e"),
        ("reference/a.py", "from pagedkv.spec.rules.hits import hit"),
        ("invariants/a.py", "from pagedkv.spec.snapshots import Snapshot"),
        ("impl/a.py", "import torch\nfrom torch import Tensor\nfrom pagedkv.spec import Request"),
        ("conformance/a.py", "import hypothesis\nfrom pagedkv.spec.rules import hit\nfrom . import b"),
    ],
)
def test_an_import_by_the_table_is_not_reported(tmp_path: Path, path: str, text: str) -> None:
    assert rooms.import_breaches(plant(tmp_path, {path: text})) == []


def test_no_room_is_imported_by_its_bare_name() -> None:
    folders = (*rooms.ROOMS, "src", "tests", "scripts")
    paths = [ROOT / "setup.py", *(path for name in folders for path in rooms.files_of(ROOT / name))]
    assert rooms.bare_imports(paths, ROOT) == []


@pytest.mark.parametrize(
    "text",
    [
        "import spec",
        "import spec.rules as r",
        "from reference import Pool",
        "from src.pagedkv.spec import Request",
        "def f():\n    import conformance",
        "from importlib import import_module\nimport_module('invariants')",
        "__import__('spec')",
    ],
)
def test_a_bare_import_is_reported(tmp_path: Path, text: str) -> None:
    root = plant(tmp_path, {"tests/test_a.py": text, "tests/test_b.py": "from .spec import a"})
    breaches = rooms.bare_imports(rooms.files_of(root / "tests"), root)
    assert len(breaches) == 1
    assert "test_a.py" in breaches[0]


def test_no_adapter_brings_hypothesis_along() -> None:
    assert rooms.engines_that_need_hypothesis(ROOT) == []


@pytest.mark.parametrize(
    ("files", "adapter"),
    [
        ({"conformance/engines/a.py": "import hypothesis"}, "a"),
        ({"conformance/engines/a.py": "def f():\n    from hypothesis import given"}, "a"),
        (
            {
                "conformance/engines/a.py": "from pagedkv.conformance.machines import machine",
                "conformance/machines/__init__.py": "from .live import machine",
                "conformance/machines/live.py": "import hypothesis.stateful",
            },
            "a",
        ),
        ({"conformance/engines/a.py": "", "conformance/__init__.py": "import hypothesis"}, "a"),
    ],
)
def test_an_adapter_that_brings_hypothesis_is_reported(
    tmp_path: Path, files: dict[str, str], adapter: str
) -> None:
    reports = rooms.engines_that_need_hypothesis(plant(tmp_path, files))
    assert reports
    assert all(f"engines.{adapter}" in report or f"engines/{adapter}.py" in report for report in reports)


def test_an_adapter_may_reach_hypothesis_when_asked(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "conformance/engines/a.py": "from pagedkv.conformance.runs import run",
            "conformance/runs.py": (
                "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import hypothesis\n"
                "def run():\n    import hypothesis\n"
            ),
        },
    )
    assert rooms.engines_that_need_hypothesis(root) == []


def test_every_file_of_a_room_is_short() -> None:
    assert rooms.long_files(ROOT) == []


def test_a_long_file_is_reported(tmp_path: Path) -> None:
    line = "x = 1\n"
    files = {"reference/a.py": line * rooms.MAX_LINES, "reference/deep/b.py": line * (rooms.MAX_LINES + 1)}
    assert rooms.long_files(plant(tmp_path, files)) == [f"{tmp_path / 'reference/deep/b.py'}: 301 lines"]


def test_the_model_stays_small() -> None:
    assert 0 < rooms.model_lines(ROOT) < rooms.MAX_MODEL_LINES


def test_only_code_counts_as_lines_of_the_model(tmp_path: Path) -> None:
    words = '"""A module.\n\nTwo lines more."""\n\n# a comment\n\n'
    code = words + 'x = (\n    1,  # one\n)\n\n\ndef f():\n    """Do."""\n    return x\n'
    root = plant(
        tmp_path,
        {
            "reference/a.py": code,
            "spec/rules/b.py": "y = '''\n\n'''\n",
            "spec/c.py": code,
            "conformance/d.py": code,
        },
    )
    assert rooms.model_lines(root) == 5 + 3
