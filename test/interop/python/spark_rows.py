"""Data as read by Spark: rows and Iceberg's metadata tables."""

from canonical import canonical, plain, summarize


def java_table(spark, name):
    """The org.apache.iceberg.Table behind a name."""
    return spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def metadata_location(spark, name):
    """The metadata file that the table's catalog points to."""
    return java_table(spark, name).operations().current().metadataFileLocation()


def metadata_rows(spark, query):
    return [plain(row) for row in spark.sql(query).collect()]


METADATA_QUERIES = {
    "files": "SELECT content, file_path, lower(file_format) AS file_format, spec_id, record_count, file_size_in_bytes "
    "FROM {}.files",
    "snapshots": "SELECT CAST(snapshot_id AS STRING) AS snapshot_id, operation FROM {}.snapshots",
    "manifests": "SELECT content, path FROM {}.manifests",
    "entries": "SELECT status, sequence_number, data_file.file_path AS file_path, data_file.content AS content "
    "FROM {}.entries",
    "refs": "SELECT name, type, CAST(snapshot_id AS STRING) AS snapshot_id FROM {}.refs",
}


def dump(spark, name, with_metadata):
    """Rows (v3: with their lineage) and, if requested, the content of Spark's metadata tables for the table."""
    metadata = java_table(spark, name).operations().current()
    lineage = metadata.formatVersion() >= 3
    extra = ", _row_id AS `_rid`, _last_updated_sequence_number AS `_lusn`" if lineage else ""
    rows = [canonical(row) for row in spark.sql(f"SELECT *{extra} FROM {name}").collect()]
    result = summarize([{key: row[key] for key in row if key not in ("_rid", "_lusn")} for row in rows])
    result["format_version"] = metadata.formatVersion()
    result["schema"] = [[field.name, field.dataType.simpleString()] for field in spark.table(name).schema.fields]
    if lineage:
        result["lineage"] = summarize(rows)
        result["next_row_id"] = metadata.nextRowId()
    if with_metadata:
        result["metadata"] = {
            table: metadata_rows(spark, query.format(name)) for table, query in METADATA_QUERIES.items()
        }
        result["metadata"]["partitions"] = spark.sql(f"SELECT count(*) FROM {name}.partitions").collect()[0][0]
    return result
