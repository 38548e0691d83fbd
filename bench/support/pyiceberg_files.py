"""Times PyIceberg's inspect.files() on a fresh table object.

Arguments: catalog URI, warehouse, catalog name, table. Prints {"seconds", "files"}.
"""

import json
import sys
import time

from pyiceberg.catalog.sql import SqlCatalog

uri, warehouse, name, table = sys.argv[1:]
catalog = SqlCatalog(name, uri=uri, warehouse=warehouse)
started = time.monotonic()
files = catalog.load_table(table).inspect.files()
print(json.dumps({"seconds": time.monotonic() - started, "files": files.num_rows}))
