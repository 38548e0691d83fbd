"""Tables as PyIceberg writes them.

Argument: {"uri", "warehouse", "name", "namespace", "only": ["table", …]}
Answer:   {"<namespace.table>": "<metadata location>", …}
"""

import datetime
import decimal
import random
import uuid

import pyarrow as pa
from house import answer, arguments, catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, LessThan
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

UTC = datetime.timezone.utc
NAMES = ["Ærø", "zebra", "naïve", "日本語テキスト", "emoji 🦓🏔", "", "O'Brien", 'quo"te', "tab\there", "a" * 40]
REGIONS = ["eu-west", "us/east", "a b", "ünï=cödé", "100%", None]


def day(offset):
    return datetime.date(1970, 1, 1) + datetime.timedelta(days=offset)


def at(seconds, micros=0):
    return datetime.datetime(2026, 3, 1) + datetime.timedelta(seconds=seconds, microseconds=micros)


def arrow(table, rows):
    """Rows (dicts) as Arrow in exactly the table's current schema."""
    return pa.Table.from_pylist(rows, schema=table.schema().as_arrow())


def small_appends(house, name):
    schema = Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
        NestedField(3, "amount", DecimalType(18, 2)),
        NestedField(4, "at", TimestamptzType()),
        NestedField(5, "score", DoubleType()),
    )
    table = house.create_table(name, schema)
    for part in range(24):
        table.append(
            arrow(
                table,
                [
                    {
                        "id": part * 50 + i,
                        "name": NAMES[i % len(NAMES)],
                        "amount": decimal.Decimal(f"{(i - 25) * 1234567}.{i % 100:02d}"),
                        "at": at(part * 3600 + i, i).replace(tzinfo=UTC),
                        "score": [float("nan"), -0.0, 0.0, float("inf"), -1.5e300, None][i % 6],
                    }
                    for i in range(50)
                ],
            )
        )
    return table


def partitioned_schema():
    return Schema(
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "region", StringType()),
        NestedField(3, "ts", TimestampType()),
        NestedField(4, "name", StringType()),
        NestedField(5, "v", FloatType()),
    )


def partitioned_rows(part, count=40):
    return [
        {
            "id": part * 1000 + i,
            "region": REGIONS[(part + i) % len(REGIONS)],
            "ts": None if i % 17 == 16 else datetime.datetime(1969, 12, 31, 22) + datetime.timedelta(hours=i % 4),
            "name": NAMES[i % len(NAMES)],
            "v": i / 3,
        }
        for i in range(count)
    ]


def partitioned(house, name, transforms, appends=7):
    """`transforms`: (source column, transform) pairs, one partition field each."""
    schema = partitioned_schema()
    fields = [
        PartitionField(schema.find_field(column).field_id, 1000 + i, transform, f"p_{column}_{i}")
        for i, (column, transform) in enumerate(transforms)
    ]
    table = house.create_table(name, schema, partition_spec=PartitionSpec(*fields))
    for part in range(appends):
        table.append(arrow(table, partitioned_rows(part)))
    return table


def evolved_schema(house, name):
    point = StructType(
        NestedField(11, "x", IntegerType()), NestedField(12, "y", IntegerType()), NestedField(13, "gone", StringType())
    )
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=True),
        NestedField(2, "ratio", FloatType()),
        NestedField(3, "price", DecimalType(9, 2)),
        NestedField(4, "point", point),
        NestedField(5, "tags", ListType(14, StringType(), element_required=False)),
        NestedField(6, "attrs", MapType(15, StringType(), 16, IntegerType(), value_required=False)),
        NestedField(7, "dropped", StringType()),
        NestedField(8, "renamed", StringType()),
    )
    table = house.create_table(name, schema)

    def rows(part, make):
        return [make(part * 20 + i) for i in range(20)]

    def first(i):
        return {
            "id": i,
            "ratio": i / 7,
            "price": decimal.Decimal(i) / 100,
            "point": None if i % 5 == 0 else {"x": i, "y": -i, "gone": f"g{i}"},
            "tags": None if i % 7 == 0 else [NAMES[i % len(NAMES)], None][: i % 3],
            "attrs": None if i % 6 == 0 else [(f"k{k}", k if k else None) for k in range(i % 4)],
            "dropped": f"old {i}",
            "renamed": f"name {i}",
        }

    for part in range(4):
        table.append(arrow(table, rows(part, first)))
    with table.update_schema() as update:
        update.update_column("id", LongType())
        update.update_column("ratio", DoubleType())
        update.update_column("price", DecimalType(12, 2))
        update.rename_column("renamed", "full name")
        update.delete_column("dropped")
        update.delete_column(("point", "gone"))
        update.update_column(("point", "x"), LongType())
        update.rename_column(("point", "y"), "why")
    with table.update_schema() as update:
        update.add_column("dropped", LongType())  # the same name again, another column
        update.add_column(("point", "z"), DoubleType())
        update.add_column("nested", ListType(100, LongType(), False))
        update.move_first("full name")

    def second(i):
        return {
            "id": i + 2**40,
            "ratio": i / 7,
            "price": decimal.Decimal(i) * 10_000_000 + decimal.Decimal("0.25"),
            "point": {"x": 2**40 + i, "why": None, "z": 0.1 * i},
            "tags": [],
            "attrs": [("z", 1), ("a", 2)],
            "full name": f"new {i}",
            "dropped": i,
            "nested": [i, None, -i],
        }

    for part in range(4):
        table.append(arrow(table, rows(part + 4, second)))
    return table


def evolved_spec(house, name):
    table = house.create_table(name, partitioned_schema())
    for part in range(3):
        table.append(arrow(table, partitioned_rows(part)))
    with table.update_spec() as update:
        update.add_field("region", IdentityTransform(), "region")
    for part in range(3, 6):
        table.append(arrow(table, partitioned_rows(part)))
    with table.update_spec() as update:
        update.remove_field("region")
        update.add_field("id", BucketTransform(4), "id_bucket")
        update.add_field("ts", DayTransform(), "ts_day")
    for part in range(6, 9):
        table.append(arrow(table, partitioned_rows(part)))
    return table


def every_type_schema(fixed):
    fields = [
        NestedField(1, "bool", BooleanType()),
        NestedField(2, "int", IntegerType()),
        NestedField(3, "long", LongType()),
        NestedField(4, "float", FloatType()),
        NestedField(5, "double", DoubleType()),
        NestedField(6, "dec9", DecimalType(9, 4)),
        NestedField(7, "dec18", DecimalType(18, 6)),
        NestedField(8, "dec38", DecimalType(38, 10)),
        NestedField(9, "date", DateType()),
        NestedField(10, "time", TimeType()),
        NestedField(11, "ts", TimestampType()),
        NestedField(12, "tstz", TimestamptzType()),
        NestedField(13, "string", StringType()),
        NestedField(14, "uuid", UUIDType()),
        NestedField(15, "binary", BinaryType()),
    ]
    return Schema(*fields, *([NestedField(16, "fixed", FixedType(7))] if fixed else []))


def every_type_row(i, fixed):
    dice = random.Random(i)
    sign = -1 if i % 2 else 1
    row = {
        "bool": i % 3 == 0,
        "int": sign * (2**31 - 1 - i),
        "long": sign * (2**63 - 1 - i),
        "float": [float("nan"), -0.0, float("-inf"), 1.25, 3.4e38][i % 5],
        "double": [float("nan"), -0.0, float("inf"), 5e-324, 0.1][i % 5],
        "dec9": decimal.Decimal(sign * (99999 - i)) + decimal.Decimal("0.9999") * sign,
        "dec18": decimal.Decimal(sign * (10**12 - 1 - i)),
        "dec38": decimal.Decimal(sign * (10**27 + i)) + decimal.Decimal("0.0000000001"),
        "date": day(sign * i * 997),
        "time": datetime.time(i % 24, i % 60, (i * 7) % 60, i * 9973 % 1_000_000),
        "ts": datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999) + datetime.timedelta(microseconds=sign * i**5),
        "tstz": datetime.datetime(1970, 1, 1, tzinfo=UTC) + datetime.timedelta(microseconds=sign * i**6 + 1),
        "string": NAMES[i % len(NAMES)],
        "uuid": uuid.UUID(int=dice.getrandbits(128)).bytes,
        "binary": dice.randbytes(i % 9),
    }
    if fixed:
        row["fixed"] = dice.randbytes(7)
    return {name: None if (i + k) % 11 == 0 else value for k, (name, value) in enumerate(row.items())}


def every_type(house, name, fixed=False):
    table = house.create_table(name, every_type_schema(fixed))
    for part in range(6):
        rows = [every_type_row(part * 30 + i, fixed) for i in range(30)]
        uuids = "uuid"
        schema = pa.schema(
            [pa.field(f.name, pa.binary(16) if f.name == uuids else f.type) for f in table.schema().as_arrow()]
        )
        table.append(pa.Table.from_pylist(rows, schema=schema).cast(table.schema().as_arrow()))
    return table


AWKWARD = [
    'we"ird.col', "a b", "ColA", "cola", "select", "9day", "ключ", "emoji 🦓", "filename", "file_row_number",
    "percent%20", "back\\slash", "semi;colon", "c1", "x" * 120,
]  # fmt: skip


def awkward_value(position, column, i):
    if column == "9day":  # the partition
        return f"{column}/{i % 2}"
    return f"{column}/{i}" if position % 2 else i


def awkward_names(house, name):
    fields = [NestedField(i + 1, column, StringType() if i % 2 else LongType()) for i, column in enumerate(AWKWARD)]
    schema = Schema(*fields)
    spec = PartitionSpec(PartitionField(6, 1000, IdentityTransform(), "9day"))
    table = house.create_table(name, schema, partition_spec=spec)
    for part in range(6):
        rows = [
            {column: awkward_value(k, column, part * 100 + i) for k, column in enumerate(AWKWARD)}
            for i in range(10)
        ]
        table.append(arrow(table, rows))
    return table


def copy_on_write(house, name):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
    table = house.create_table(name, partitioned_schema(), partition_spec=spec)
    for part in range(6):
        table.append(arrow(table, partitioned_rows(part)))
    table.delete(EqualTo("id", 1003))
    table.delete(And(GreaterThanOrEqual("id", 2000), LessThan("id", 2010)))
    table.overwrite(arrow(table, partitioned_rows(9, 12)), overwrite_filter=EqualTo("region", "us/east"))
    table.delete(EqualTo("region", "100%"))
    return table


def tagged(house, name):
    table = house.create_table(name, partitioned_schema())
    for part in range(6):
        table.append(arrow(table, partitioned_rows(part)))
        if part == 1:
            table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "release 1").commit()
        if part == 2:
            table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "audit").commit()
    return table


def format_version_1(house, name):
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "region"))
    table = house.create_table(name, partitioned_schema(), partition_spec=spec, properties={"format-version": "1"})
    for part in range(6):
        table.append(arrow(table, partitioned_rows(part)))
    return table


def sorted_table(house, name):
    order = SortOrder(
        SortField(2, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),
        SortField(1, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST),
    )
    table = house.create_table(name, partitioned_schema(), sort_order=order)
    for part in range(6):
        table.append(arrow(table, partitioned_rows(part)))
    return table


TABLES = {
    "small_appends": small_appends,
    "by_region": lambda h, n: partitioned(h, n, [("region", IdentityTransform())]),
    "by_bucket_and_truncate": lambda h, n: partitioned(
        h, n, [("id", BucketTransform(3)), ("name", TruncateTransform(2))], 6
    ),
    "by_day": lambda h, n: partitioned(h, n, [("ts", DayTransform())]),
    "by_hour": lambda h, n: partitioned(h, n, [("ts", HourTransform())]),
    "by_year_and_truncated_id": lambda h, n: partitioned(
        h, n, [("ts", YearTransform()), ("id", TruncateTransform(4000))]
    ),
    "by_month": lambda h, n: partitioned(h, n, [("ts", MonthTransform())]),
    "evolved_schema": evolved_schema,
    "evolved_spec": evolved_spec,
    "every_type": every_type,
    "fixed_type": lambda h, n: every_type(h, n, fixed=True),
    "awkward_names": awkward_names,
    "copy_on_write": copy_on_write,
    "tagged": tagged,
    "format_version_1": format_version_1,
    "sorted": sorted_table,
}


def main():
    options = arguments()
    house = catalog(options)
    namespace = options.get("namespace", "py")
    try:
        house.create_namespace(namespace)
    except NamespaceAlreadyExistsError:
        pass
    made = {}
    for name in options.get("only", TABLES):
        table = TABLES[name](house, f"{namespace}.{name}")
        made[f"{namespace}.{name}"] = table.metadata_location
    answer(made)


main()
