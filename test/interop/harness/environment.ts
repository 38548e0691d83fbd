import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The repository's root folder. */
export const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')

/** Python with the packages of `python/requirements.txt`, or undefined; `scripts/setup/interop.sh` prints it. */
export const PYTHON = existing('LOCKHOUSE_PYTHON')

/** The Iceberg runtime for Spark, or undefined. */
export const SPARK_JAR = existing('ICEBERG_SPARK_JAR')

/** Python with PySpark 3.5, and the Iceberg runtime for it, or undefined. */
export const SPARK35_PYTHON = existing('LOCKHOUSE_SPARK35_PYTHON')
export const SPARK35_JAR = existing('ICEBERG_SPARK35_JAR')

/** Folder of a Spark with the Connect server, and the Iceberg runtime for it, or undefined. */
export const SPARK_CONNECT_HOME = existing('SPARK_CONNECT_HOME')
export const SPARK_CONNECT_JAR = existing('ICEBERG_SPARK_CONNECT_JAR')

/** The SQLite driver with which Spark opens the service's own catalog, or undefined. */
export const SQLITE_JDBC_JAR = existing('SQLITE_JDBC_JAR')

/** Jars of Iceberg's REST catalog server, or undefined. */
export const REST_JARS = existing('ICEBERG_REST_JARS')

/** Jars of Iceberg's compatibility kit for REST catalogs, or undefined. */
export const REST_KIT_JARS = existing('ICEBERG_REST_KIT_JARS')

/** The Nessie server, and a Java for it, or undefined; `scripts/setup/nessie.sh` prints them. */
export const NESSIE_JAR = existing('NESSIE_JAR')
export const NESSIE_JAVA = existing('NESSIE_JAVA')

/** Programs over iceberg-go and iceberg-rust, and Python with DuckDB's extension for Iceberg, or undefined. */
export const GO_CLIENT = existing('LOCKHOUSE_GO_CLIENT')
export const RUST_CLIENT = existing('LOCKHOUSE_RUST_CLIENT')
export const DUCKDB_PYTHON = existing('LOCKHOUSE_DUCKDB_PYTHON')

function existing(name: string): string | undefined {
  const path = process.env[name]
  if (!path) return undefined
  if (!existsSync(path)) throw new Error(`${name} is set to ${path}, which does not exist`)
  return path
}

/** Whether PyIceberg can run here; logs when it cannot, because a silent skip looks like a pass. */
export function pyicebergAvailable(suite: string): boolean {
  if (PYTHON) return true
  skipLoudly(suite, 'LOCKHOUSE_PYTHON')
  return false
}

/** Whether Spark can run here; logs when it cannot. */
export function sparkAvailable(suite: string): boolean {
  if (PYTHON && SPARK_JAR) return true
  skipLoudly(suite, PYTHON ? 'ICEBERG_SPARK_JAR' : 'LOCKHOUSE_PYTHON')
  return false
}

/** Whether a Spark Connect server can run here; logs when it cannot. */
export function sparkConnectAvailable(suite: string): boolean {
  if (SPARK_CONNECT_HOME && SPARK_CONNECT_JAR) return true
  skipLoudly(suite, SPARK_CONNECT_HOME ? 'ICEBERG_SPARK_CONNECT_JAR' : 'SPARK_CONNECT_HOME')
  return false
}

/** Whether Iceberg's REST catalog server can run here; logs when it cannot. */
export function restServerAvailable(suite: string): boolean {
  if (REST_JARS) return true
  skipLoudly(suite, 'ICEBERG_REST_JARS')
  return false
}

/** Whether Iceberg's compatibility kit for REST catalogs can run here; logs when it cannot. */
export function restKitAvailable(suite: string): boolean {
  if (REST_KIT_JARS) return true
  skipLoudly(suite, 'ICEBERG_REST_KIT_JARS')
  return false
}

/** Whether a Nessie server can run here; logs when it cannot. */
export function nessieAvailable(suite: string): boolean {
  if (NESSIE_JAR && NESSIE_JAVA) return true
  skipLoudly(suite, NESSIE_JAR ? 'NESSIE_JAVA' : 'NESSIE_JAR', 'nessie.sh')
  return false
}

/** Logs why a suite does not run. */
export function skipLoudly(suite: string, variable: string, script = 'interop.sh'): void {
  process.stderr.write(`\nSKIPPED: ${suite}: ${variable} is not set; run eval "$(scripts/setup/${script})" first\n`)
}
