"""Tables as Spark and Iceberg's Java library write them: merge-on-read deletes, deletion vectors, evolution, refs."""

from spark_rows import java_table, metadata_location

COLUMNS = "id BIGINT, region STRING, ts TIMESTAMP, name STRING, amount DECIMAL(12,2), v DOUBLE"
MERGE_ON_READ = (
    "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
)


def create(spark, name, version, partitioning="", extra=""):
    spark.sql(
        f"CREATE TABLE {name} ({COLUMNS}) USING iceberg {partitioning} "
        f"TBLPROPERTIES ('format-version'='{version}', {MERGE_ON_READ}{extra})"
    )


def select(first, last):
    """Rows with ids from `first` to `last`, both included, the same for the same id."""
    return (
        "SELECT id, element_at(array('eu','us','ap','ünï=cö/dé'), CAST(id % 4 + 1 AS INT)) AS region, "
        "TIMESTAMP '1969-12-31 20:00:00' + make_interval(0, 0, 0, 0, CAST(id % 9 AS INT), 0, id / 1000000) AS ts, "
        "CASE WHEN id % 7 = 0 THEN NULL ELSE concat('name ', id) END AS name, "
        "CAST(id * 1.25 AS DECIMAL(12,2)) AS amount, "
        "CASE WHEN id % 5 = 0 THEN double('NaN') WHEN id % 5 = 1 THEN double('-0.0') ELSE id / 3 END AS v "
        f"FROM range({first}, {last + 1}, 1, 1)"
    )


def insert(spark, name, first, last):
    spark.sql(f"INSERT INTO {name} {select(first, last)}")


def inserts(spark, name, count, size, start=0):
    for part in range(count):
        insert(spark, name, start + part * size, start + part * size + size - 1)


def change(spark, name):
    """DELETE, UPDATE and MERGE, which together delete and add rows in several files."""
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    spark.sql(f"UPDATE {name} SET name = concat('updated ', id), amount = amount + 1 WHERE id % 10 = 4")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT * FROM ({select(40, 60)})) s ON t.id = s.id "
        "WHEN MATCHED AND s.id % 2 = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET v = -1.5 "
        "WHEN NOT MATCHED THEN INSERT *"
    )


def position_deletes(spark, name):
    create(spark, name, 2)
    inserts(spark, name, 8, 20)
    change(spark, name)


def position_deletes_by_partition(spark, name):
    """One position delete file per partition and commit, which covers many data files."""
    create(spark, name, 2, "PARTITIONED BY (region)", ", 'write.delete.granularity'='partition'")
    inserts(spark, name, 7, 20)
    change(spark, name)


def deletion_vectors(spark, name):
    create(spark, name, 3)
    inserts(spark, name, 8, 20)
    change(spark, name)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 5")


def partitioned_deletion_vectors(spark, name):
    create(spark, name, 3, "PARTITIONED BY (region, days(ts))")
    inserts(spark, name, 6, 40)
    change(spark, name)


def upgraded(spark, name):
    """Position deletes from v2, then v3: new deletes are deletion vectors, old rows have no row id."""
    create(spark, name, 2)
    inserts(spark, name, 6, 20)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 1")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version'='3')")
    inserts(spark, name, 4, 20, 500)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 2")


def evolved_partitions(spark, name):
    create(spark, name, 2, "PARTITIONED BY (region)")
    inserts(spark, name, 3, 20)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    spark.sql(f"ALTER TABLE {name} REPLACE PARTITION FIELD region WITH bucket(3, id)")
    inserts(spark, name, 3, 20, 100)
    spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD truncate(6, name)")
    inserts(spark, name, 3, 20, 200)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 6")


def evolved_columns(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id INT, f FLOAT, d DECIMAL(9,2), s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<p: INT>>, "
        f"m MAP<STRING, STRUCT<q: INT>>, old STRING) USING iceberg TBLPROPERTIES ('format-version'='2', {MERGE_ON_READ})"
    )
    for part in range(4):
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), CAST(id / 3 AS FLOAT), CAST(id AS DECIMAL(9,2)), "
            "CASE WHEN id % 3 = 0 THEN NULL ELSE named_struct('a', CAST(id AS INT), 'b', concat('b', id)) END, "
            "CASE WHEN id % 4 = 0 THEN NULL ELSE array(named_struct('p', CAST(id AS INT)), NULL) END, "
            "CASE WHEN id % 5 = 0 THEN NULL ELSE map('k', named_struct('q', CAST(id AS INT)), 'n', NULL) END, "
            f"concat('old ', id) FROM range({part * 20}, {part * 20 + 20}, 1, 1)"
        )
    for clause in (
        "ALTER COLUMN id TYPE BIGINT",
        "ALTER COLUMN f TYPE DOUBLE",
        "ALTER COLUMN d TYPE DECIMAL(14,2)",
        "DROP COLUMN s.b",
        "ADD COLUMN s.c DOUBLE",
        "RENAME COLUMN s.a TO first",
        "ADD COLUMN l.element.extra STRING",
        "RENAME COLUMN m.value.q TO quantity",
        "DROP COLUMN old",
        "ADD COLUMN old INT AFTER id",
    ):
        spark.sql(f"ALTER TABLE {name} {clause}")
    for part in range(3):
        spark.sql(
            f"INSERT INTO {name} SELECT id + 5000000000, CAST(id AS INT), id / 7, CAST(id AS DECIMAL(14,2)) * 1000000, "
            "named_struct('first', CAST(id AS INT), 'c', double(id)), "
            "array(named_struct('p', 1, 'extra', 'x')), map('k', named_struct('quantity', 9)) "
            f"FROM range({part * 20}, {part * 20 + 20}, 1, 1)"
        )
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 7")


def sorted_rows(spark, name):
    create(spark, name, 2, "PARTITIONED BY (region)")
    spark.sql(f"ALTER TABLE {name} WRITE ORDERED BY name DESC NULLS LAST, id")
    inserts(spark, name, 6, 40)


def branches_and_tags(spark, name):
    create(spark, name, 2)
    inserts(spark, name, 3, 20)
    spark.sql(f"ALTER TABLE {name} CREATE TAG `v1.0` RETAIN 365 DAYS")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit WITH SNAPSHOT RETENTION 2 SNAPSHOTS")
    insert(spark, f"{name}.branch_audit", 1000, 1019)
    insert(spark, f"{name}.branch_audit", 1020, 1039)
    insert(spark, f"{name}.branch_audit", 1040, 1059)
    inserts(spark, name, 4, 20, 60)
    change(spark, name)


def overwritten(spark, name):
    """Copy-on-write: overwrite snapshots whose manifests keep DELETED entries."""
    create(spark, name, 2, "PARTITIONED BY (region)")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode'='copy-on-write')")
    inserts(spark, name, 6, 20)
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 3")
    spark.sql(f"INSERT OVERWRITE {name} {select(300, 320)}")
    inserts(spark, name, 6, 20, 400)


def avro_files(spark, name):
    create(spark, name, 2, "", ", 'write.format.default'='avro'")
    inserts(spark, name, 6, 20)


def orc_files(spark, name):
    create(spark, name, 2, "", ", 'write.format.default'='orc'")
    inserts(spark, name, 6, 20)


def delete_equal(spark, name, keys, partition=None, compared=None):
    """Commits an equality delete file, written by Iceberg's Java library as Flink does; `keys`: a query of the keys,
    `compared`: dotted names of struct members, where not all columns of the query are compared as they are.

    The keys go through a table of their own, because single numbers lose their Java type on the way out of Python.
    """
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    key_table = f"{name}_keys"
    spark.sql(f"CREATE TABLE {key_table} USING iceberg AS {keys}")
    columns = compared or spark.table(key_table).columns
    table = java_table(spark, name)
    wanted, ids = jvm.java.util.ArrayList(), gateway.new_array(gateway.jvm.int, len(columns))
    for i, column in enumerate(columns):
        wanted.add(column)
        ids[i] = table.schema().findField(column).fieldId()
    factory = jvm.org.apache.iceberg.data.GenericAppenderFactory(
        table.schema(), table.spec(), ids, table.schema().select(wanted), None
    )
    location = table.locationProvider().newDataLocation(f"eq-delete-{jvm.java.util.UUID.randomUUID()}.parquet")
    output = jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(table.io().newOutputFile(location))
    writer = factory.newEqDeleteWriter(output, jvm.org.apache.iceberg.FileFormat.PARQUET, partition)
    records = jvm.org.apache.iceberg.data.IcebergGenerics.read(java_table(spark, key_table)).build().iterator()
    while records.hasNext():
        writer.write(records.next())
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql(f"DROP TABLE {key_table} PURGE")


def partition_of(spark, name, values):
    """A partition tuple for the table's current spec."""
    table = java_table(spark, name)
    record = spark._jvm.org.apache.iceberg.data.GenericRecord.create(table.spec().partitionType())
    for field, value in values.items():
        record.setField(field, value)
    return record


def equality_deletes(spark, name):
    """Deletes, then the same keys inserted again, as an upsert stream does; NULL keys; two sets of key columns."""
    create(spark, name, 2)
    inserts(spark, name, 4, 20)
    delete_equal(spark, name, "SELECT id FROM VALUES (1L), (21L), (41L), (999L) AS t(id)")
    insert(spark, name, 1, 1)
    delete_equal(spark, name, "SELECT name FROM VALUES (CAST(NULL AS STRING)), ('name 22') AS t(name)")
    insert(spark, name, 21, 30)
    delete_equal(spark, name, "SELECT id, region FROM VALUES (5L, 'us'), (6L, 'nowhere') AS t(id, region)")
    spark.sql(f"DELETE FROM {name} WHERE id = 17")


def partitioned_equality_deletes(spark, name):
    create(spark, name, 2, "PARTITIONED BY (region)")
    inserts(spark, name, 5, 20)
    eu, us = (partition_of(spark, name, {"region": region}) for region in ("eu", "us"))
    delete_equal(spark, name, "SELECT id FROM VALUES (4L), (5L), (24L), (64L) AS t(id)", eu)
    insert(spark, name, 4, 4)
    delete_equal(spark, name, "SELECT v FROM VALUES (double('NaN')), (double('-0.0')) AS t(v)", us)


def struct_equality_deletes(spark, name):
    """Deletes by a member of a struct, in rows where the member is null, or a struct around it."""
    create(spark, name, 2)
    spark.sql(f"ALTER TABLE {name} ADD COLUMN s STRUCT<x: INT, t: STRUCT<y: STRING>>")
    for start in (0, 20, 40):
        spark.sql(
            f"INSERT INTO {name} SELECT *, CASE id % 5 WHEN 0 THEN NULL "
            "WHEN 1 THEN named_struct('x', CAST(NULL AS INT), 't', named_struct('y', CAST(NULL AS STRING))) "
            "WHEN 2 THEN named_struct('x', 2, 't', CAST(NULL AS STRUCT<y: STRING>)) "
            "WHEN 3 THEN named_struct('x', 3, 't', named_struct('y', 'three')) "
            "ELSE named_struct('x', 4, 't', named_struct('y', CAST(NULL AS STRING))) END AS s "
            f"FROM ({select(start, start + 19)})"
        )
        if start == 0:
            delete_equal(spark, name, "SELECT named_struct('x', CAST(NULL AS INT)) AS s", compared=["s.x"])
        if start == 20:
            keys = "SELECT named_struct('t', named_struct('y', CAST(NULL AS STRING))) AS s"
            delete_equal(spark, name, keys, compared=["s.t.y"])
    delete_equal(spark, name, "SELECT CAST(NULL AS STRUCT<x: INT>) AS s", compared=["s.x"])
    inserts_with_struct = f"INSERT INTO {name} SELECT *, named_struct('x', 1, 't', NULL) FROM ({select(60, 79)})"
    spark.sql(inserts_with_struct)


def defaults(spark, name):
    """Columns that files lack and that have defaults: whole floats, and the least integers."""
    create(spark, name, 3)
    inserts(spark, name, 3, 20)
    types = spark._jvm.org.apache.iceberg.types.Types
    literal = spark._jvm.org.apache.iceberg.expressions.Literal
    update = java_table(spark, name).updateSchema()
    jvm = spark._jvm.java.lang
    columns = {
        "whole": (types.DoubleType.get(), literal.of(5.0)),
        "zero": (types.DoubleType.get(), literal.of(-0.0)),
        "half": (types.FloatType.get(), literal.of(jvm.Float.valueOf("2"))),
        "least": (types.IntegerType.get(), literal.of(jvm.Integer.valueOf("-2147483648"))),
        "lowest": (types.LongType.get(), literal.of(jvm.Long.valueOf("-9223372036854775808"))),
    }
    for column, (kind, value) in columns.items():
        update.addColumn(column, kind, value)
    update.commit()
    spark.sql(f"REFRESH TABLE {name}")


def bloom_filters(spark, name):
    """Bloom filters on columns of every supported type; `spark.test.ts` has the lookups."""
    create(spark, name, 2)
    spark.sql(
        f"ALTER TABLE {name} ADD COLUMNS n INT, d DATE, f FLOAT, b BINARY, small DECIMAL(5,2), "
        "local TIMESTAMP_NTZ, s STRUCT<x: BIGINT>"
    )
    columns = "id region ts name amount n d f b small local s.x".split()
    properties = ", ".join(f"'write.parquet.bloom-filter-enabled.column.{column}'='true'" for column in columns)
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({properties})")
    for part in range(3):
        spark.sql(
            f"INSERT INTO {name} SELECT *, CAST(-id AS INT), date_add(DATE '1969-12-01', CAST(id AS INT)), "
            "CAST(id + 0.25 AS FLOAT), CAST(concat('b', id) AS BINARY), CAST(id / 4 AS DECIMAL(5,2)), "
            "TIMESTAMP_NTZ '1969-12-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS INT)), named_struct('x', id * 1000000007) "
            f"FROM ({select(part * 200, part * 200 + 199)})"
        )


TABLES = {
    "position_deletes": position_deletes,
    "position_deletes_by_partition": position_deletes_by_partition,
    "deletion_vectors": deletion_vectors,
    "partitioned_deletion_vectors": partitioned_deletion_vectors,
    "upgraded": upgraded,
    "evolved_partitions": evolved_partitions,
    "evolved_columns": evolved_columns,
    "sorted_rows": sorted_rows,
    "branches_and_tags": branches_and_tags,
    "overwritten": overwritten,
    "avro_files": avro_files,
    "orc_files": orc_files,
    "equality_deletes": equality_deletes,
    "partitioned_equality_deletes": partitioned_equality_deletes,
    "struct_equality_deletes": struct_equality_deletes,
    "defaults": defaults,
    "bloom_filters": bloom_filters,
}


def make(spark, only, catalog):
    """Creates the tables in `<catalog>.db`; returns the locations of their metadata."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.db")
    made = {}
    for table in only or TABLES:
        name = f"{catalog}.db.{table}"
        TABLES[table](spark, name)
        made[name] = metadata_location(spark, name)
    return made
