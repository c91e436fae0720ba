"""The bill of materials, CycloneDX 1.6 in JSON: what is in the extension, and what pip installs beside it."""

from __future__ import annotations

import re
import uuid
from typing import Any

import tomllib

from .linked import ROOT, Module
from .version import version

# What a text says -> its SPDX name. The first that fits counts, so BSD's three clauses stand before its two.
LICENCES = {
    "Apache-2.0": r"Apache License\s+Version 2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms(?s:.*)Neither the name",
    "BSD-2-Clause": r"Redistribution and use in source and binary forms",
}
# Texts beside licences: a grant of patents of Google for Go and protobuf, and whose Amazon code is.
ADDITIONS = ("Additional IP Rights Grant", "AWS SDK for Go", "Copyright Amazon.com")


def licences(module: Module) -> list[str]:
    """The SPDX names of a module's licences; an unknown text ends the program: somebody must read it."""
    names = set()
    for text in module.texts:
        if text.startswith(ADDITIONS):
            continue
        found = [name for name, pattern in LICENCES.items() if re.search(pattern, text)]
        if not found:
            raise SystemExit(
                f"{module.path}: what licence is this? Add it to pybind/release/sbom.py\n{text[:300]}"
            )
        if "BSD-3-Clause" in found:
            found.remove("BSD-2-Clause")
        names.update(found)
    return sorted(names)


def bill(linked: list[Module]) -> dict[str, Any]:
    """The document, the same for the same sources."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    itself = f"pkg:pypi/{project['name']}@{version()}"
    parts = [*map(_go_module, linked), *map(_requirement, project["dependencies"])]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, itself)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": itself,
                "name": project["name"],
                "version": version(),
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "purl": itself,
            }
        },
        "components": parts,
        "dependencies": [{"ref": itself, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def _go_module(module: Module) -> dict[str, Any]:
    """A module that is part of the extension."""
    standard = module.version.startswith("go")
    path, number = ("std", module.version.removeprefix("go")) if standard else (module.path, module.version)
    purl = f"pkg:golang/{path}@{number}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": path,
        "version": number,
        "licenses": [{"license": {"id": name}} for name in licences(module)],
        "purl": purl,
    }


def _requirement(text: str) -> dict[str, Any]:
    """A distribution that pip installs beside this one, in a version that pip chooses."""
    found = re.match(r"[\w.-]+", text)
    assert found is not None, text
    purl = f"pkg:pypi/{found[0].lower()}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": found[0],
        "description": f"not in the wheel: pip installs {text}",
        "purl": purl,
    }
