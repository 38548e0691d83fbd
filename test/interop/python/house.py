"""The catalog that PyIceberg and the service share: a SQL database or a REST server, and one warehouse."""

import json
import os
import sys
import warnings

os.environ.setdefault("TZ", "UTC")
warnings.filterwarnings("ignore")

from pyiceberg.catalog.rest import RestCatalog  # noqa: E402
from pyiceberg.catalog.sql import SqlCatalog  # noqa: E402


def arguments():
    """The JSON object given as the first argument (or on standard input when it is `-`)."""
    return json.loads(sys.stdin.read() if sys.argv[1] == "-" else sys.argv[1])


def catalog(options):
    """Opens (or creates) the catalog; `uri`, `warehouse`, `name`, `properties` as the service is configured."""
    kind = RestCatalog if options["uri"].startswith("http") else SqlCatalog
    return kind(
        options.get("name", "lockhouse"),
        uri=options["uri"],
        warehouse=options["warehouse"],
        **{"downcast-ns-timestamp-to-us-on-write": "true"},
        **options.get("properties", {}),
    )


def answer(value):
    """Prints the result, the only thing on standard output."""
    json.dump(value, sys.stdout, ensure_ascii=True)
    sys.stdout.write("\n")
