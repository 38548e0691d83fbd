"""Rows behind every branch and tag of a table.

Argument: {"uri", "warehouse", "name", "table"}; answer: {"<reference>": number of rows}
"""

from house import answer, arguments, catalog


def main():
    options = arguments()
    table = catalog(options).load_table(options["table"])
    answer(
        {
            name: table.scan(snapshot_id=ref.snapshot_id).to_arrow().num_rows
            for name, ref in table.metadata.refs.items()
        }
    )


main()
