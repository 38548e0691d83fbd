"""Changes tables on command, like an engine that does not use the service.

Argument: {"uri", "warehouse", "name"}. Each line of standard input is {"table", "do", …}; each is answered with
{"rows": number, "operations": [operation of each snapshot of the table, oldest first]} or {"error": text}.

do: "create" {"partitioned"} | "append" {"first", "count"} | "delete" {"where"} | "overwrite" {"first", "count", "where"?} |
"replace_partitions" {"first", "count"} | "upsert" {"first", "count"} | "add_column" | "rename_column" |
"drop_column" | "expire" | "rows"
"""

import json
import sys
import warnings
from datetime import datetime, timedelta

import pyarrow as pa
from house import catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

warnings.filterwarnings("ignore")

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "part", IntegerType(), required=False),
    NestedField(3, "name", StringType(), required=False),
)


def make(house, name, command):
    house.create_namespace_if_not_exists(name.split(".")[0])
    partitions = [PartitionField(2, 1000, IdentityTransform(), "part")] if command.get("partitioned") else []
    house.create_table(name, SCHEMA, partition_spec=PartitionSpec(*partitions))


def rows_for(table, command):
    """Rows in the schema that the table has now: ids, their remainder by 3, and text for every other column."""
    ids = range(command["first"], command["first"] + command["count"])
    columns = {}
    for field in table.schema().fields:
        if field.name == "id":
            columns["id"] = pa.array(ids, pa.int64())
        elif field.name == "part":
            columns["part"] = pa.array([i % 3 for i in ids], pa.int32())
        else:
            columns[field.name] = pa.array([f"{command.get('text', 'n')}{i}" for i in ids], pa.string())
    return pa.table(columns)


def change(table, command):
    match command["do"]:
        case "append":
            table.append(rows_for(table, command))
        case "delete":
            table.delete(command["where"])
        case "overwrite":
            where = {"overwrite_filter": command["where"]} if "where" in command else {}
            table.overwrite(rows_for(table, command), **where)
        case "replace_partitions":
            table.dynamic_partition_overwrite(rows_for(table, command))
        case "upsert":
            table.upsert(rows_for(table, command), join_cols=["id"])
        case "add_column":
            table.update_schema().add_column("note", StringType()).commit()
        case "rename_column":
            table.update_schema().rename_column("name", "title").commit()
        case "drop_column":
            table.update_schema().delete_column("note").commit()
        case "expire":
            table.maintenance.expire_snapshots().older_than(datetime.now() + timedelta(days=1)).commit()
        case "rows":
            pass
        case other:
            raise ValueError(f"unknown command {other}")


def main():
    house = catalog(json.loads(sys.argv[1]))
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["do"] == "create":
                make(house, command["table"], command)
            else:
                change(house.load_table(command["table"]), command)
            table = house.load_table(command["table"])
            found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
            operations = [snapshot.summary.operation.value for snapshot in table.metadata.snapshots]
            answer = {"rows": found, "operations": operations}
        except Exception as error:  # the caller decides
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(answer), flush=True)


main()
