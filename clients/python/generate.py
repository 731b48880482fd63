"""Writes src/agent_service/_generated from the OpenAPI document: python generate.py DOCUMENT [--check | --compare]

The models come from datamodel-code-generator, the operations from this file.
`node scripts/python.mjs` runs it with the document of the sources.
--check generates again and compares. --compare needs no package: it compares the digest of what the files were generated from.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent / "src" / "agent_service" / "_generated"
NOTICE = "# Generated from the OpenAPI document by generate.py. Any change is lost.\n"
METHODS = ("get", "post", "put", "patch", "delete")
# The service checks these, and says what is wrong; a client that checked them too would have to be as new as the service.
UNCHECKED = {
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "propertyNames",
    "example",
    "default",
}
# These have methods of their own in the hand-written part.
LEFT_OUT = {"streamMessage", "issueToken", "issueOauthToken"}


def relax(node: Any, in_request: bool, is_properties: bool = False) -> Any:
    """Keeps what later versions may add: fields, and values of enumerations in answers."""
    if isinstance(node, list):
        return [relax(one, in_request) for one in node]
    if not isinstance(node, dict):
        return node
    relaxed = {
        name: relax(value, in_request, name == "properties" and not is_properties)
        for name, value in node.items()
        if not name.startswith("x-") and (is_properties or name not in UNCHECKED) and not (name == "format" and value == "email")
    }
    if not is_properties and "properties" in relaxed and relaxed.get("additionalProperties", False) is False:
        relaxed["additionalProperties"] = True
    if not in_request and relaxed.get("type") == "string" and "enum" in relaxed:
        description = {"description": relaxed["description"]} if "description" in relaxed else {}
        return {"anyOf": [{"type": "string", "enum": relaxed["enum"]}, {"type": "string"}], **description}
    return relaxed


def reachable(schemas: dict[str, Any], names: list[str]) -> set[str]:
    """These schemas and all that they consist of."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name]))
    return found


def models_document(document: dict[str, Any]) -> dict[str, Any]:
    """The schemas alone, by name: a gateway lists its routes in another order than the sources do."""
    named: dict[str, Any] = dict(sorted(document["components"]["schemas"].items()))
    in_requests = reachable(named, [name for name in named if name.endswith("Request")])
    in_answers = reachable(named, [name for name in named if name not in in_requests])
    schemas = {name: relax(copy.deepcopy(schema), name in in_requests - in_answers) for name, schema in named.items()}
    info = {"title": document["info"]["title"], "version": document["info"]["version"]}
    return {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}}


def write_models(document: dict[str, Any], target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "openapi.json"
        source.write_text(json.dumps(models_document(document)))
        options = {
            "--input": str(source),
            "--input-file-type": "openapi",
            "--output": str(target),
            "--output-model-type": "pydantic_v2.BaseModel",
            "--target-python-version": "3.10",
            "--enum-field-as-literal": "all",
            "--custom-file-header": NOTICE.strip(),
        }
        flags = [
            "--use-standard-collections",
            "--use-union-operator",
            "--use-schema-description",
            "--use-annotated",
            "--collapse-root-models",
            "--formatters=builtin",
            "--disable-timestamp",
        ]
        command = [sys.executable, "-m", "datamodel_code_generator", *flags]
        subprocess.run([*command, *(part for option in options.items() for part in option)], check=True)


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match.group().lower()}", name)


def schema_name(media: dict[str, Any]) -> str:
    return str(media["schema"]["$ref"]).rsplit("/", 1)[-1]


def query_type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    return {"integer": "int", "boolean": "bool"}.get(str(schema.get("type")), "str")


class Operation:
    def __init__(self, method: str, path: str, described: dict[str, Any]) -> None:
        self.name = snake(described["operationId"])
        self.method = method.upper()
        self.path = path
        self.summary = described["summary"]
        parameters = described.get("parameters", [])
        self.path_names = [one["name"] for one in parameters if one["in"] == "path"]
        self.query = {one["name"]: query_type(one["schema"]) for one in parameters if one["in"] == "query"}
        body = described.get("requestBody", {})
        self.body = schema_name(body["content"]["application/json"]) if body else None
        self.body_required = bool(body.get("required"))
        successes = [one for status, one in described["responses"].items() if status.startswith("2")]
        contents = [one["content"]["application/json"] for one in successes if "application/json" in one.get("content", {})]
        self.result = schema_name(contents[0]) if contents else None
        self.is_list = "cursor" in self.query

    @property
    def signature(self) -> str:
        given = [f"{name}: str" for name in self.path_names]
        if self.body:
            given.append(f"body: models.{self.body} | Body" + ("" if self.body_required else " | None = None"))
        keywords = [f"{name}: {kind} | None = None" for name, kind in self.query.items()]
        return ", ".join(["self", *given, "*", *keywords, "options: CallOptions | None = None"])

    @property
    def arguments(self) -> str:
        path = f'f"{self.path}"' if not self.path_names else self.filled_path
        query = "{" + ", ".join(f'"{name}": {name}' for name in self.query) + "}"
        parse = f"models.{self.result}.model_validate_json" if self.result else "nothing"
        return f'Operation("{self.method}", {path}, {query}, {"body" if self.body else "None"}, {parse}), options'

    @property
    def filled_path(self) -> str:
        filled = re.sub(r"\{(\w+)\}", lambda match: "{segment(" + match.group(1) + ")}", self.path)
        return f'f"{filled}"'

    def source(self, is_async: bool) -> str:
        result = f"models.{self.result}" if self.result else "None"
        define, wait = ("async def", "await ") if is_async else ("def", "")
        lines = [
            f"    {define} {self.name}({self.signature}) -> {result}:",
            f'        """{self.summary}."""',
            f"        return {wait}self._call({self.arguments})",
        ]
        return "\n".join(lines)


def operations_of(document: dict[str, Any]) -> list[Operation]:
    return [
        Operation(method, path, item[method])
        for path, item in document["paths"].items()
        for method in METHODS
        if method in item and item[method]["operationId"] not in LEFT_OUT
    ]


def operations_source(document: dict[str, Any]) -> str:
    operations = operations_of(document)
    parts = [
        NOTICE,
        "from __future__ import annotations",
        "",
        "from typing import Literal",
        "",
        "from .._operation import AsyncCaller, Body, Caller, CallOptions, Operation, nothing, segment",
        "from . import models",
        "",
    ]
    for name, base, is_async in (("Operations", "Caller", False), ("AsyncOperations", "AsyncCaller", True)):
        sources = "\n\n".join(operation.source(is_async) for operation in operations)
        parts += ["", f"class {name}({base}):", f'    """Every operation of the API."""\n\n{sources}', ""]
    return "\n".join(parts)


def digest_line(document: dict[str, Any]) -> str:
    """The source of both files, without the tool that writes the models of it."""
    source = json.dumps([models_document(document), operations_source(document)], sort_keys=True)
    return f"# Source: sha256 {hashlib.sha256(source.encode()).hexdigest()}\n"


def main() -> None:
    document = json.loads(Path(sys.argv[1]).read_text())
    if "--compare" in sys.argv:
        if digest_line(document) not in (TARGET / "__init__.py").read_text():
            sys.exit("clients/python does not follow from the OpenAPI document. Run: node scripts/python.mjs")
        return
    is_check = "--check" in sys.argv
    # Beside the files themselves, because the tool formats by the settings of the project that it writes into.
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as folder:
        target = Path(folder) if is_check else TARGET
        target.mkdir(parents=True, exist_ok=True)
        (target / "__init__.py").write_text(NOTICE + digest_line(document))
        write_models(document, target / "models.py")
        (target / "operations.py").write_text(operations_source(document))
        if is_check:
            stale = [file.name for file in target.glob("*.py") if file.read_text() != (TARGET / file.name).read_text()]
            if stale:
                sys.exit(f"{', '.join(stale)} do not follow from the document. Run: node scripts/python.mjs")


main()
