"""The manifest entries that PyIceberg reads from a table.

Argument: {"metadata": "<metadata location>"}
Answer:   {"entries": [...], "files": [...], "manifests": [...], "planned": {"<data file>": ["<delete file>", …]}}
"""

from house import answer, arguments
from pyiceberg.table import StaticTable

argument = arguments()
table = StaticTable.from_metadata(argument["metadata"])

entries = [
    {
        "status": row["status"],
        "snapshot_id": str(row["snapshot_id"]),
        "sequence_number": row["sequence_number"],
        "file_sequence_number": row["file_sequence_number"],
        "content": row["data_file"]["content"],
        "path": row["data_file"]["file_path"],
        "partition": row["data_file"]["partition"],
        "records": row["data_file"]["record_count"],
    }
    for row in table.inspect.entries().to_pylist()
]
files = [
    {"content": row["content"], "path": row["file_path"], "records": row["record_count"]}
    for row in table.inspect.files().to_pylist()
]
manifests = [
    {
        "content": row["content"],
        "path": row["path"],
        "length": row["length"],
        "spec": row["partition_spec_id"],
        "added": row["added_data_files_count"] + row["added_delete_files_count"],
        "existing": row["existing_data_files_count"] + row["existing_delete_files_count"],
        "deleted": row["deleted_data_files_count"] + row["deleted_delete_files_count"],
        "summaries": row["partition_summaries"],
    }
    for row in table.inspect.manifests().to_pylist()
]
planned = {}
try:
    for task in table.scan().plan_files():
        planned[task.file.file_path] = sorted(delete.file_path for delete in task.delete_files)
except ValueError as refused:
    planned = {"refused": str(refused)}
answer({"entries": entries, "files": files, "manifests": manifests, "planned": planned})
