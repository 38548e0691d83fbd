const INTRODUCTION = `# Start here

This notebook opens your lakehouse. These environment variables are set for it:

| Variable | Meaning |
|---|---|
| \`LAKE_API_URL\`, \`LAKE_TOKEN_FILE\` | address of Lockhouse, and a token of yours that is valid while this notebook runs |
| \`LAKE_CATALOG_NAME\`, \`LAKE_CATALOG_TYPE\`, \`LAKE_WAREHOUSE\` | the catalog and the location of its tables |
| \`LAKE_CATALOG_URI\` | address of the catalog, if notebooks may open it directly |

A missing variable means that this setup does not offer it. The token has your role: code in this notebook acts on your behalf.`

const CONNECT = `import json, os, pathlib, urllib.parse, urllib.request

def lockhouse(path, body=None):
    """Calls Lockhouse. The token is read each time, because it is renewed while the notebook runs."""
    request = urllib.request.Request(os.environ["LAKE_API_URL"] + path, method="GET" if body is None else "POST")
    request.add_header("Authorization", "Bearer " + pathlib.Path(os.environ["LAKE_TOKEN_FILE"]).read_text().strip())
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

tables = [f"{t['namespace']}.{t['name']}" for t in lockhouse("/api/tables")["tables"]] if "LAKE_API_URL" in os.environ else []
tables`

const HEALTH = `name = tables[0] if tables else None
if name:
    health = lockhouse(f"/api/table/{urllib.parse.quote(name)}/health")
    print(name, "has", health["record_count"], "rows; health score", health["score"], "of 100")`

const ROWS = `try:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.table import StaticTable
except ImportError:
    raise SystemExit("PyIceberg is not in this image: %pip install 'pyiceberg[pyarrow]'")

def open_table(name):
    """Opens a table with PyIceberg: through the catalog if it can be reached, else read-only in its current state."""
    if "LAKE_CATALOG_URI" in os.environ:
        catalog = load_catalog(
            os.environ["LAKE_CATALOG_NAME"],
            type=os.environ["LAKE_CATALOG_TYPE"],
            uri=os.environ["LAKE_CATALOG_URI"],
            warehouse=os.environ["LAKE_WAREHOUSE"],
        )
        return catalog.load_table(name)
    location = lockhouse(f"/api/table/{urllib.parse.quote(name)}")["metadata_location"]
    return StaticTable.from_metadata(location)

rows = None
if name:
    try:
        rows = open_table(name).scan(limit=10).to_arrow()
    except FileNotFoundError as missing:
        print("This notebook cannot read the files of the warehouse:", missing)
        print("An administrator of Lockhouse can mount the warehouse: see NOTEBOOK_WAREHOUSE_CLAIM in the documentation.")
rows`

interface Cell {
  readonly cell_type: 'markdown' | 'code'
  readonly source: string
}

const CELLS: readonly Cell[] = [
  { cell_type: 'markdown', source: INTRODUCTION },
  { cell_type: 'code', source: CONNECT },
  { cell_type: 'code', source: HEALTH },
  { cell_type: 'code', source: ROWS },
]

/**
 * The initial notebook of a new user (nbformat 4.5): it lists the tables through Lockhouse, using only Python's
 * standard library, and opens one with PyIceberg.
 */
export const FIRST_NOTEBOOK_CONTENT = JSON.stringify(
  {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' } },
    cells: CELLS.map((cell, i) => ({
      id: `cell-${i + 1}`,
      metadata: {},
      ...cell,
      ...(cell.cell_type === 'code' ? { execution_count: null, outputs: [] } : {}),
    })),
  },
  undefined,
  1,
)
