"""Tests that the import contracts of tools_app name every package."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WITH_THE_DATABASE = {"admin", "apps", "migrations", "models", "policy"}


def test_contract_lists_every_package_without_database_access() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    contract = next(item for item in contracts if item["name"] == "Tools import no models and no Django")
    children = {path.stem for path in (ROOT / "tools_app").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert {f"tools_app.{child}" for child in children - WITH_THE_DATABASE - {"__init__"}} == set(
        contract["source_modules"]
    )
