"""Continues to write to tables that the service has changed.

Argument: {"uri", "warehouse", "name", "steps": [{"table", "repeat": n} | {"table", "delete": "row filter"}]}
`repeat` appends the table's first n rows (in id order when it has one) once more, as one new file each time;
`delete` deletes by filter, copy-on-write. Answer: {"<table>": "<metadata location>"}
"""

from house import answer, arguments, catalog


def repeat(table, count):
    rows = table.scan().to_arrow()
    if "id" in rows.column_names:
        rows = rows.sort_by("id")
    table.append(rows.slice(0, count))


def main():
    options = arguments()
    house = catalog(options)
    made = {}
    for step in options["steps"]:
        table = house.load_table(step["table"])
        if "repeat" in step:
            repeat(table, step["repeat"])
        if "delete" in step:
            table.delete(step["delete"])
        made[step["table"]] = table.refresh().metadata_location
    answer(made)


main()
