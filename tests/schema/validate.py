"""validate.py SCHEMA_FOLDER KIND FILE...: holds JSON documents against KIND.schema.json with the jsonschema library.

Exits with 77 (skipped) if the library is missing."""
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)

BASE = "https://lcplan.invalid/schema/"


def validator(folder, kind):
    schemas = {}
    for path in sorted(folder.glob("*.schema.json")):
        schemas[BASE + path.name] = json.loads(path.read_text())
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    root = schemas[BASE + kind + ".schema.json"]
    try:
        from referencing import Registry, Resource
        registry = Registry().with_resources((uri, Resource.from_contents(s)) for uri, s in schemas.items())
        return jsonschema.Draft202012Validator(root, registry=registry)
    except ImportError:
        resolver = jsonschema.RefResolver(BASE + kind + ".schema.json", root, store=schemas)
        return jsonschema.Draft202012Validator(root, resolver=resolver)


def main():
    folder, kind, files = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    check = validator(folder, kind)
    bad = 0
    for name in files:
        errors = sorted(check.iter_errors(json.loads(pathlib.Path(name).read_text())), key=lambda e: list(e.path))
        for error in errors[:5]:
            print(f"{name}: {error.json_path}: {error.message[:300]}")
        bad += bool(errors)
    print(f"{len(files) - bad} of {len(files)} documents hold against {kind}.schema.json")
    return 1 if bad or not files else 0


sys.exit(main())
