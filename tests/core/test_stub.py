"""The stub that the build puts beside the compiled module, for type checkers, lists what the module has."""

import ast
from pathlib import Path

from margrave import _core

STUB = Path(_core.__file__).resolve().with_name("_core.pyi")


def test_the_stub_lists_the_names_of_the_module() -> None:
    listed = set()
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        match statement:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                listed.add(name)
    assert listed == {name for name in vars(_core) if not name.startswith("_")}


def test_the_stub_has_the_types_of_arguments() -> None:
    classes = {each.name: each for each in ast.parse(STUB.read_text(encoding="utf-8")).body if hasattr(each, "name")}
    beta = next(each for each in ast.walk(classes["LossFamily"]) if isinstance(each, ast.arg) and each.arg == "beta")
    assert beta.annotation is not None and ast.unparse(beta.annotation) == "float"
