"""Row lineage that Parquet files store, as PyArrow reads it.

Argument: {"paths": ["path", …]}
Answer:   {"rows": [[id, row id, last updated sequence number], …], "indexed": each of the two columns has both page indexes}
"""

import json
import sys

import pyarrow.parquet as pq

LINEAGE = ["_row_id", "_last_updated_sequence_number"]

request = json.load(sys.stdin)
rows = []
indexed = True
for path in request["paths"]:
    file = pq.ParquetFile(path)
    columns = [file.read(columns=[name])[name].to_pylist() for name in ["id", *LINEAGE]]
    rows += [list(row) for row in zip(*columns)]
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        chunks = [group.column(at) for at in range(group.num_columns)]
        for chunk in chunks:
            if chunk.path_in_schema in LINEAGE:
                indexed = indexed and chunk.has_offset_index and chunk.has_column_index
                values = [row[1 + LINEAGE.index(chunk.path_in_schema)] for row in rows[-file.metadata.num_rows :]]
                assert min(values) <= chunk.statistics.min <= chunk.statistics.max <= max(values)
print(json.dumps({"rows": rows, "indexed": indexed}))
