"""What a file imports, read from its syntax tree."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """One name that a file takes: the module, the name taken from it (none for `import x`), where and how."""

    path: Path
    line: int
    module: str
    name: str | None
    relative: bool
    at_load: bool

    @property
    def top(self) -> str:
        """The package that the module is in."""
        return self.module.partition(".")[0]

    def within(self, package: str) -> bool:
        """Whether what is taken is the package, or lies in it."""
        taken = [self.module] if self.name is None else [self.module, f"{self.module}.{self.name}"]
        return any(name == package or name.startswith(f"{package}.") for name in taken)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.module}" + (f" ({self.name})" if self.name else "")


def module_of(path: Path, root: Path) -> str:
    """The name under which a file of a room is imported."""
    parts = list(path.relative_to(root).with_suffix("").parts)
    return ".".join(["pagedkv", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def file_of(module: str, root: Path) -> Path | None:
    """The file of a module of this project; none if there is no such module here."""
    place = root.joinpath(*module.split(".")[1:])
    candidates = (place.with_suffix(".py"), place / "__init__.py") if module != "pagedkv" else ()
    return next((path for path in candidates if path.is_file()), None)


@cache
def imports_of(path: Path, root: Path) -> tuple[Import, ...]:
    """Every import of a file, wherever in it, with `import_module` and `__import__` of a literal name."""
    return tuple(_walk(ast.parse(path.read_text(encoding="utf-8")), path, root, at_load=True))


def _walk(node: ast.AST, path: Path, root: Path, at_load: bool) -> Iterator[Import]:
    match node:
        case ast.Import(names=names, lineno=line):
            for alias in names:
                yield Import(path, line, alias.name, None, relative=False, at_load=at_load)
        case ast.ImportFrom(names=names, lineno=line, module=module, level=level):
            origin = _absolute(module, level, path, root)
            for alias in names:
                yield Import(path, line, origin, alias.name, relative=level > 0, at_load=at_load)
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(module)), *_],
            lineno=line,
        ):
            yield Import(path, line, module, None, relative=False, at_load=at_load)
    inside = at_load and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        inside = False
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, path, root, inside)


def _absolute(module: str | None, level: int, path: Path, root: Path) -> str:
    if level == 0:
        return module or ""
    parts = module_of(path, root).split(".")
    package = parts if path.name == "__init__.py" else parts[:-1]
    base = package[: len(package) - (level - 1)]
    return ".".join([*base, module] if module else base)


def defined_in(taken: Import, root: Path) -> str:
    """The module that defines what is taken, followed through the modules that only hand it on."""
    module, name = taken.module, taken.name
    seen = set()
    while name is not None and (module, name) not in seen:
        seen.add((module, name))
        if file_of(f"{module}.{name}", root):
            return f"{module}.{name}"
        path = file_of(module, root)
        handed_on = [step for step in imports_of(path, root) if step.name == name] if path else []
        if not handed_on:
            break
        module = handed_on[0].module
    return module


def loaded_with(path: Path, root: Path) -> dict[str, str]:
    """Each module outside this project that importing the file brings along, with the import that does."""
    outside: dict[str, str] = {}
    todo, seen = [path], set()
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        names = [module_of(current, root)]
        for step in imports_of(current, root):
            if step.at_load and step.top != "pagedkv":
                outside.setdefault(step.module, str(step))
            elif step.at_load:
                names += [step.module, f"{step.module}.{step.name}"]
        for name in names:
            parts = name.split(".")
            packages = (".".join(parts[:end]) for end in range(2, len(parts) + 1))
            todo += [found for package in packages if (found := file_of(package, root))]
    return outside
