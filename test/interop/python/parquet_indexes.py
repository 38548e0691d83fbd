"""Parquet files with page indexes and Bloom filters, written and compared by PyArrow.

Argument: {"write": ["path", …], "rows": rows of each file}
       or {"joined": "path", "inputs": ["path", …]}
Answer:   {} or {"same": rows and types are equal, "indexed": each chunk has both page indexes, "row_groups": number}
"""

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def field(name, kind, number):
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


SCHEMA = pa.schema(
    [
        field("id", pa.int64(), 1),
        field("name", pa.string(), 2),
        field("value", pa.float64(), 3),
        field("tags", pa.list_(field("element", pa.int32(), 5)), 4),
    ]
)


def write(path, start, rows):
    ids = range(start, start + rows)
    columns = {
        "id": list(ids),
        "name": [None if i % 7 == 0 else f"name {i % 40}" for i in ids],
        "value": [float("nan") if i % 9 == 0 else i / 3 for i in ids],
        "tags": [None if i % 5 == 0 else [i % 3, None] for i in ids],
    }
    pq.write_table(
        pa.table(columns, schema=SCHEMA),
        path,
        compression="zstd",
        row_group_size=2000,
        data_page_size=2048,
        write_page_index=True,
        bloom_filter_options={"id": True, "name": True},
    )


def compare(joined, inputs):
    found = pq.read_table(joined)
    expected = pa.concat_tables([pq.read_table(path) for path in inputs])
    metadata = pq.ParquetFile(joined).metadata
    chunks = [metadata.row_group(g).column(c) for g in range(metadata.num_row_groups) for c in range(metadata.num_columns)]
    # NaNs are never equal, so values are compared as texts
    return {
        "same": found.schema == expected.schema and repr(found.to_pylist()) == repr(expected.to_pylist()),
        "indexed": all(chunk.has_offset_index and chunk.has_column_index for chunk in chunks),
        "row_groups": metadata.num_row_groups,
    }


request = json.load(sys.stdin)
if "write" in request:
    for number, path in enumerate(request["write"]):
        write(path, number * request["rows"], request["rows"])
    print("{}")
else:
    print(json.dumps(compare(request["joined"], request["inputs"])))
