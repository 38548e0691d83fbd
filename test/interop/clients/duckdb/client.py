"""A client of an Iceberg REST catalog with DuckDB, whose extensions come from PyPI.

Reads one JSON command per line and answers each with one line, as `go/main.go` describes. Arguments: the address of the
catalog and a token.
"""

import importlib
import json
import pathlib
import sys

import duckdb

EXTENSIONS = ("httpfs", "avro", "iceberg")
RETRIES = 50


def extension_file(name: str) -> str:
    """The extension in its package, which has a folder for DuckDB's version."""
    package = importlib.import_module(f"duckdb_extension_{name}")
    found = sorted(pathlib.Path(package.__path__[0]).glob(f"extensions/v{duckdb.__version__}/*.duckdb_extension"))
    return str(found[0])


def attach(uri: str, token: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name in EXTENSIONS:
        connection.execute(f"LOAD '{extension_file(name)}'")
    connection.execute("CREATE SECRET served (TYPE iceberg, TOKEN ?)".replace("?", quoted(token)))
    connection.execute(f"ATTACH 'lockhouse' AS served (TYPE iceberg, ENDPOINT {quoted(uri)}, SECRET served)")
    return connection


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def run(connection: duckdb.DuckDBPyConnection, command: dict) -> dict:
    table = f"served.db.{command.get('table')}"
    match command["do"]:
        case "list":
            rows = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'served' AND schema_name = 'db'"
            ).fetchall()
            return {"tables": [name for (name,) in rows]}
        case "create":
            connection.execute("CREATE SCHEMA IF NOT EXISTS served.db")
            connection.execute(f"CREATE TABLE {table} (id BIGINT, name VARCHAR)")
            return {}
        case "append":
            append(connection, table, command["first"], command["count"])
            return {}
        case "rows":
            return {"ids": [row_id for (row_id,) in connection.execute(f"SELECT id FROM {table}").fetchall()]}
        case other:
            raise ValueError(f"no command {other!r}")


def append(connection: duckdb.DuckDBPyConnection, table: str, first: int, count: int) -> None:
    """DuckDB does not try a refused commit again: the transaction of its statement fails as a whole."""
    insert = f"INSERT INTO {table} SELECT i, 'n' || i FROM range({first}, {first + count}) t(i)"
    for attempt in range(RETRIES):
        try:
            connection.execute(insert)
            return
        except duckdb.Error as error:
            if "conflict" not in str(error).lower() or attempt == RETRIES - 1:
                raise


def main() -> None:
    connection = attach(sys.argv[1], sys.argv[2])
    for line in sys.stdin:
        try:
            answer = run(connection, json.loads(line))
        except Exception as error:  # reported to the caller
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
