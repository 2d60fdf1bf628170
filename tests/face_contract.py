"""The import contract of faces: other apps import the names that a package lists in its `__init__`.

`lint-imports` reads it from pyproject.toml.
"""

import ast
from functools import cache
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

ROOT = Path(__file__).parent.parent


class FaceContract(Contract):
    """Modules of `importers` import a package of `apps` by its face, never a module inside that the face does not list."""

    type_name = "face"

    importers = fields.ListField(subfield=fields.StringField())
    apps = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        deep_imports = [
            f"{importer} imports {imported}"
            for importer in sorted(graph.modules)
            if importer.partition(".")[0] in self.importers and ".migrations." not in importer
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if imported.partition(".")[0] in self.apps and not is_face(imported)
        ]
        return ContractCheck(kept=not deep_imports, metadata={"deep_imports": deep_imports})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for deep_import in check.metadata["deep_imports"]:
            output.print_error(f"{deep_import}: list the name in the package's __init__ and import it from there")


def is_face(module: str) -> bool:
    """Return whether a module is an app's package or top module, or listed in `__all__` of its package."""
    package, _, name = module.rpartition(".")
    return module.count(".") < 2 or (package.count(".") == 1 and name in names_listed_by(package))


@cache
def names_listed_by(package: str) -> frozenset[str]:
    for node in ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()
