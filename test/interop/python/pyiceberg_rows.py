"""Data as read by PyIceberg: rows and its own metadata tables.

Argument: {"uri", "warehouse", "name", "tables": ["ns.table", …], "metadata": bool}
       or {"files": {"name": "metadata location", …}} for tables outside the catalog.
Answer:   {"<table>": {"count", "hash", "rows", "schema", "files", "snapshots", "manifests", "refs", …}}
"""

import pyarrow as pa
from canonical import plain, summarize
from house import answer, arguments, catalog
from pyiceberg.table import StaticTable


def field_text(field):
    return {"id": field.field_id, "name": field.name, "type": str(field.field_type), "required": field.required}


def rows(table):
    """All rows as dictionaries; `to_pylist` keeps decimals, times and microseconds exact."""
    return table.scan().to_arrow().to_pylist(maps_as_pydicts=None)


def files(table):
    wanted = ["content", "file_path", "file_format", "spec_id", "record_count", "file_size_in_bytes"]
    try:
        return [plain(row) for row in table.inspect.files().select(wanted).to_pylist()]
    except pa.ArrowNotImplementedError:  # `inspect` cannot build the readable metrics of a uuid column
        return [file_of(entry) for entry in live_entries(table)]


def live_entries(table):
    for manifest in table.current_snapshot().manifests(table.io):
        yield from manifest.fetch_manifest_entry(table.io, discard_deleted=True)


def file_of(entry):
    file = entry.data_file
    return {
        "content": int(file.content),
        "file_path": file.file_path,
        "file_format": file.file_format.value,
        "spec_id": file.spec_id,
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
    }


def metadata_tables(table):
    return {
        "files": files(table),
        "snapshots": [
            {
                "snapshot_id": str(snapshot.snapshot_id),
                "operation": snapshot.summary.operation.value if snapshot.summary else None,
                "summary": dict(snapshot.summary.additional_properties) if snapshot.summary else {},
            }
            for snapshot in table.metadata.snapshots
        ],
        "manifests": [
            {"path": row["path"], "content": row["content"], "length": row["length"]}
            for row in table.inspect.manifests().to_pylist()
        ],
        "refs": {
            name: {"snapshot_id": str(ref.snapshot_id), "type": ref.snapshot_ref_type.value}
            for name, ref in table.metadata.refs.items()
        },
        "partitions": table.inspect.partitions().num_rows,
    }


def dump(table, with_metadata):
    table = table if isinstance(table, StaticTable) else table.refresh()
    result = summarize(rows(table))
    result["schema"] = [field_text(field) for field in table.schema().fields]
    result["format_version"] = table.metadata.format_version
    result["metadata_location"] = table.metadata_location
    result["current_snapshot_id"] = str(table.metadata.current_snapshot_id)
    if with_metadata:
        result.update(metadata_tables(table))
    return result


def main():
    options = arguments()
    with_metadata = options.get("metadata", True)
    result = {}
    for name, location in options.get("files", {}).items():
        result[name] = dump(StaticTable.from_metadata(location), with_metadata)
    if options.get("tables"):
        house = catalog(options)
        for name in options["tables"]:
            result[name] = dump(house.load_table(name), with_metadata)
    answer(result)


main()
