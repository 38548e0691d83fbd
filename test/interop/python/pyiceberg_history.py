"""Every snapshot of tables as read by PyIceberg; with `append`, first adds the rows of the current snapshot once more.

Argument: {"uri", "warehouse", "name", "properties", "tables": ["ns.table", …], "append": bool}
Answer:   {"<table>": {"<snapshot id>": {"count", "hash"}, …}, …}
"""

from canonical import summarize
from house import answer, arguments, catalog


def summary(table, snapshot_id):
    rows = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist(maps_as_pydicts=None)
    return summarize(rows, keep=0)


def history(table):
    return {str(snapshot.snapshot_id): summary(table, snapshot.snapshot_id) for snapshot in table.metadata.snapshots}


def main():
    options = arguments()
    house = catalog(options)
    result = {}
    for name in options["tables"]:
        table = house.load_table(name)
        if options.get("append"):
            table.append(table.scan().to_arrow())
        result[name] = history(table)
    answer(result)


main()
