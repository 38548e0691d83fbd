"""Rows of Parquet files as PyArrow reads them.

Argument: {"paths": ["path", …]}
Answer:   {"rows": text of each row, sorted, "columns": name, type and nullability of each column}
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq

request = json.load(sys.stdin)
table = pa.concat_tables([pq.read_table(path) for path in request["paths"]])
# NaNs are never equal, so values are compared as texts
rows = sorted(repr(row) for row in table.to_pylist())
columns = [f"{field.name} {field.type}{'' if field.nullable else ' required'}" for field in table.schema]
print(json.dumps({"rows": rows, "columns": columns}))
