"""Times PyIceberg on a fresh table object: loading the table, then listing its snapshots and its manifests.

Arguments: catalog URI, warehouse, catalog name, table. Prints {"load", "snapshots", "manifests"} in seconds.
"""

import json
import sys
import time

from pyiceberg.catalog.sql import SqlCatalog

uri, warehouse, name, table = sys.argv[1:]
catalog = SqlCatalog(name, uri=uri, warehouse=warehouse)


def timed(work):
    started = time.monotonic()
    result = work()
    return time.monotonic() - started, result


load, loaded = timed(lambda: catalog.load_table(table))
snapshots, _ = timed(lambda: loaded.inspect.snapshots())
manifests, _ = timed(lambda: loaded.inspect.manifests())
print(json.dumps({"load": load, "snapshots": snapshots, "manifests": manifests}))
