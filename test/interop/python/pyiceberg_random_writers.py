"""Creates tables, writes to them at random for a while, and says what must be in them.

Argument: {"uri", "warehouse", "name", "namespace", "tables": number, "seconds": number, "seed": number}. Appends rows and
deletes single ids, as a writer that knows nothing of the service; a commit that lost a race is counted, and a deletion whose
data file was replaced meanwhile is done again on the new file, as PyIceberg asks for. Prints a line "created", then
{"commits", "conflicts", "repeated", "failures": [text], "expected": {table: [rows, sum of ids]}}; each line of standard input is
then answered with the same for what the tables contain now.
"""

import json
import random
import sys
import time

import pyarrow as pa
from house import catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import EqualTo
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "part", IntegerType(), required=False),
    NestedField(3, "text", StringType(), required=False),
)
PROPERTIES = {
    "history.expire.max-snapshot-age-ms": "5000",
    "history.expire.min-snapshots-to-keep": "3",
}


def rows_of(ids):
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "part": pa.array([i % 3 for i in ids], pa.int32()),
            "text": pa.array([f"row {i}" for i in ids], pa.string()),
        }
    )


def change(house, name, ids, choice):
    """One commit: an append of new ids, or the deletion of one; `ids` changes only when it is committed."""
    table = house.load_table(name)
    if choice.random() < 0.2 and len(ids) > 5:
        gone = choice.choice(sorted(ids))
        table.delete(EqualTo("id", gone))
        ids.remove(gone)
    else:
        first = max(ids, default=0) + 1
        fresh = list(range(first, first + choice.randint(1, 50)))
        table.append(rows_of(fresh))
        ids.update(fresh)


def main():
    options = json.load(sys.stdin) if sys.argv[1] == "-" else json.loads(sys.argv[1])
    choice = random.Random(options["seed"])
    house = catalog(options)
    names = [f"{options['namespace']}.t{n}" for n in range(options["tables"])]
    house.create_namespace_if_not_exists(options["namespace"])
    expected = {}
    for name in names:
        house.create_table(name, SCHEMA, properties=PROPERTIES)
        expected[name] = set()
    print("created", flush=True)
    commits, conflicts, repeated, failures = 0, 0, 0, []
    end = time.time() + options["seconds"]
    while time.time() < end:
        name = choice.choice(names)
        try:
            state = choice.getstate()
            try:
                change(house, name, expected[name], choice)
            except ValidationException:
                repeated += 1
                choice.setstate(state)
                change(house, name, expected[name], choice)
            commits += 1
        except CommitFailedException:
            conflicts += 1
        except Exception as error:  # whatever else a writer would see
            failures.append(f"{type(error).__name__}: {error}"[:300])
    result = {
        "commits": commits,
        "conflicts": conflicts,
        "repeated": repeated,
        "failures": failures,
        "expected": {name: [len(ids), sum(ids)] for name, ids in expected.items()},
    }
    print(json.dumps(result), flush=True)
    for line in sys.stdin:
        found = {}
        for name in names:
            ids = house.load_table(name).scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
            found[name] = [len(ids), sum(ids)]
        print(json.dumps(found), flush=True)


main()
