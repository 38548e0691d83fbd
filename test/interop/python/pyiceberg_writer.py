"""Appends to a table on command, like a writer that does not use the service.

Argument: {"uri", "warehouse", "name", "table"}. Each line of standard input is {"first": id, "count": rows}, with
"table" for another table; rows have `id` and `part` = id modulo 3. Each is answered with {"snapshots": number} when it is committed; conflicts are retried.
"""

import json
import sys
import time

import pyarrow as pa
from house import catalog
from pyiceberg.exceptions import CommitFailedException, ValidationException


def append(house, name, rows):
    for attempt in range(100):
        table = house.load_table(name)
        try:
            table.append(rows)
            return len(table.metadata.snapshots)
        # ValidationException: it lost against another commit, and an expiry removed the snapshot that it began with
        except (CommitFailedException, ValidationException, OSError) as error:
            last = error
            time.sleep(0.01 * (attempt + 1))
    raise last


def main():
    options = json.loads(sys.argv[1])
    house = catalog(options)
    for line in sys.stdin:
        wanted = json.loads(line)
        ids = range(wanted["first"], wanted["first"] + wanted["count"])
        rows = pa.table(
            {"id": pa.array(ids, pa.int64()), "part": pa.array([i % 3 for i in ids], pa.int32())},
        )
        print(json.dumps({"snapshots": append(house, wanted.get("table", options["table"]), rows)}), flush=True)


main()
