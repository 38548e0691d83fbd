"""Works on a SQL catalog with PyIceberg: one JSON request on standard input, one JSON answer on standard output."""

import json
import sys

from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType


def state(catalog, name):
    table = catalog.load_table(name)
    return {
        "metadata_location": table.metadata_location,
        "uuid": str(table.metadata.table_uuid),
        "properties": table.properties,
        "columns": [field.name for field in table.schema().fields],
        "log": [entry.metadata_file for entry in table.metadata.metadata_log],
    }


def listing(catalog):
    namespaces = sorted(".".join(levels) for levels in catalog.list_namespaces())
    tables = sorted(".".join(name) for levels in catalog.list_namespaces() for name in catalog.list_tables(levels))
    return {"namespaces": namespaces, "tables": tables}


def create(catalog, name):
    catalog.create_namespace_if_not_exists(name.rsplit(".", 1)[0])
    schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType()))
    catalog.create_table(name, schema)
    return state(catalog, name)


def set_property(catalog, name, key, value):
    with catalog.load_table(name).transaction() as transaction:
        transaction.set_properties({key: value})
    return state(catalog, name)


def late_commit(catalog, name):
    """Commits on a table that was loaded before somebody else committed: reads a line from us in between."""
    table = catalog.load_table(name)
    print("loaded", flush=True)
    sys.stdin.readline()
    try:
        with table.transaction() as transaction:
            transaction.set_properties({"late": "yes"})
        return "committed"
    except CommitFailedException:
        return "refused"


def exists(catalog, name):
    try:
        catalog.load_table(name)
        return True
    except NoSuchTableError:
        return False


ACTIONS = {
    "state": state,
    "listing": listing,
    "create": create,
    "set_property": set_property,
    "late_commit": late_commit,
    "exists": exists,
}

request = json.loads(sys.stdin.readline())
opened = SqlCatalog(request["catalog"], uri=request["uri"], warehouse=request["warehouse"])
print(json.dumps(ACTIONS[request["action"]](opened, *request["arguments"])))
