"""Times PyIceberg's inspection of many tables: for each its files, snapshots and manifests, which a health report needs.

Arguments: catalog URI, warehouse, catalog name, number of tables. Prints {"seconds", "tables"}.
"""

import json
import sys
import time

from pyiceberg.catalog.sql import SqlCatalog

uri, warehouse, name, wanted = sys.argv[1:]
catalog = SqlCatalog(name, uri=uri, warehouse=warehouse)
started = time.monotonic()
tables = catalog.list_tables("bench")[: int(wanted)]
for identifier in tables:
    table = catalog.load_table(identifier)
    table.inspect.files()
    table.inspect.manifests()
    len(table.metadata.snapshots)
print(json.dumps({"seconds": time.monotonic() - started, "tables": len(tables)}))
