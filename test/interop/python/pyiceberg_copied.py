"""Whether a table has every row of others once, as read by PyIceberg.

Argument: {"uri", "warehouse", "name", "sources": ["ns.table", …], "sink": "ns.table"}; rows have `id` and `part`.
Answer:   {"rows": number in the sink, "missing": number, "doubled": number, "unknown": number, "examples": [ids]}
"""

from collections import Counter

from house import answer, arguments, catalog


def rows_of(table):
    columns = table.scan(selected_fields=("id", "part")).to_arrow()
    return Counter(zip(columns["id"].to_pylist(), columns["part"].to_pylist()))


def main():
    options = arguments()
    house = catalog(options)
    sink = rows_of(house.load_table(options["sink"]))
    expected = Counter()
    for name in options["sources"]:
        expected += rows_of(house.load_table(name))
    missing = expected - sink
    unknown = [row for row in sink if row not in expected]
    doubled = sink - expected
    for row in unknown:
        del doubled[row]
    examples = sorted(row[0] for rows in (missing, doubled, unknown) for row in rows)
    answer(
        {
            "rows": sum(sink.values()),
            "missing": sum(missing.values()),
            "doubled": sum(doubled.values()),
            "unknown": len(unknown),
            "examples": examples[:20],
        }
    )


main()
