const INTRODUCTION = `# Start here

This notebook opens your lakehouse. What it needs stands in the environment:

| Variable | What it is |
|---|---|
| \`LAKE_API_URL\`, \`LAKE_TOKEN_FILE\` | Lockhouse, and a token of yours that ends with this notebook |
| \`LAKE_CATALOG_NAME\`, \`LAKE_CATALOG_TYPE\`, \`LAKE_WAREHOUSE\` | the catalog and where its tables lie |
| \`LAKE_CATALOG_URI\` | the catalog itself, where a notebook may open it directly |

Variables that are missing are not offered here. The token has your role: what runs here acts in your name.`

const CONNECT = `import json, os, pathlib, urllib.parse, urllib.request

def lockhouse(path, body=None):
    """Asks Lockhouse; the token is read each time, because it is renewed while the notebook runs."""
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
    print(name, "has", health["record_count"], "rows; health", health["score"], "of 100")`

const ROWS = `try:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.table import StaticTable
except ImportError:
    raise SystemExit("PyIceberg is not in this image: %pip install 'pyiceberg[pyarrow]'")

def open_table(name):
    """The table as PyIceberg sees it: through the catalog where it can be reached, else as it is now, for reading."""
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
        print("The files of the warehouse cannot be read from here:", missing)
        print("Whoever runs Lockhouse can give notebooks its volume: NOTEBOOK_WAREHOUSE_CLAIM in the documentation.")
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
 * The notebook that a new user finds (nbformat 4.5): it lists the tables through Lockhouse, with nothing but Python's
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
