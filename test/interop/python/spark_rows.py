"""What Spark sees: rows and Iceberg's metadata tables."""

from canonical import plain, summarize


def java_table(spark, name):
    """The org.apache.iceberg.Table behind a name."""
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def metadata_location(spark, name):
    """The metadata file that the table's catalog points to."""
    return java_table(spark, name).operations().current().metadataFileLocation()


def metadata_rows(spark, query):
    return [plain(row) for row in spark.sql(query).collect()]


def dump(spark, name, with_metadata):
    """Rows and, in `metadata`, the tables `files`, `delete_files`, `snapshots`, `manifests`, `entries`, `refs`."""
    table = java_table(spark, name)
    version = table.operations().current().formatVersion()
    result = summarize(spark.sql(f"SELECT * FROM {name}").collect())
    result["format_version"] = version
    result["metadata_location"] = table.operations().current().metadataFileLocation()
    result["schema"] = [[field.name, field.dataType.simpleString()] for field in spark.table(name).schema.fields]
    if version >= 3:
        query = f"SELECT *, _row_id AS rid, _last_updated_sequence_number AS lusn FROM {name}"
        result["lineage"] = summarize(spark.sql(query).collect())
        result["next_row_id"] = table.operations().current().nextRowId()
    if with_metadata:
        result["metadata"] = {
            "files": metadata_rows(
                spark,
                "SELECT content, file_path, lower(file_format) AS file_format, spec_id, record_count, "
                f"file_size_in_bytes FROM {name}.files",
            ),
            "snapshots": metadata_rows(
                spark, f"SELECT CAST(snapshot_id AS STRING) AS snapshot_id, operation, summary FROM {name}.snapshots"
            ),
            "manifests": metadata_rows(
                spark, f"SELECT content, path, length, partition_spec_id FROM {name}.manifests"
            ),
            "entries": metadata_rows(
                spark,
                "SELECT status, sequence_number, file_sequence_number, data_file.file_path AS file_path, "
                f"data_file.content AS content FROM {name}.entries",
            ),
            "refs": metadata_rows(
                spark, f"SELECT name, type, CAST(snapshot_id AS STRING) AS snapshot_id FROM {name}.refs"
            ),
            "partitions": spark.sql(f"SELECT * FROM {name}.partitions").count(),
        }
    return result
