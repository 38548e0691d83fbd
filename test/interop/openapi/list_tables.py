"""One real call with the generated client: list_tables.py FOLDER_OF_CLIENT BASE_URL TOKEN; prints the table names."""

import json
import sys

folder, base_url, token = sys.argv[1:]
sys.path.insert(0, folder)

from lockhouse_client import AuthenticatedClient  # noqa: E402
from lockhouse_client.api.default import compact_table, list_tables  # noqa: E402
from lockhouse_client.models import CompactTableBody  # noqa: E402

with AuthenticatedClient(base_url=base_url, token=token) as client:
    tables = list_tables.sync(client=client)
    preview = compact_table.sync(client=client, body=CompactTableBody(table="demo.events", dry_run=True))
    missing = compact_table.sync(client=client, body=CompactTableBody(table="demo.missing"))
print(json.dumps({
    "tables": [entry.table for entry in tables.tables],
    "operation": preview.operation,
    "code": str(missing.code),
}))
