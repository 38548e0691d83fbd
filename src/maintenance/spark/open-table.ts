import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { SparkSession } from '../../engines/spark/connect/spark-client.ts'
import { SparkError } from '../../engines/spark/connect/spark-error.ts'
import { metadataFiles, refreshTable, type SparkTableName } from '../../engines/spark/maintenance/procedures.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { sameLocation } from '../../iceberg/io/location-identity.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { SparkEngine } from './spark-engine.ts'
import { missingCatalog, sparkProblem } from './spark-problem.ts'

/** A table that Spark knows as the same table, in a session. */
export interface SparkTable {
  readonly session: SparkSession
  readonly name: SparkTableName
  /** Spark's application, by which its commits are recognised. */
  readonly appId: string
  /** Spark's version, for people. */
  readonly version: string
}

/** What opening needs. */
export interface SparkTarget {
  readonly spark: SparkEngine
  /** The name of the configured catalog. */
  readonly catalogName: string
  /** Just loaded: what Spark finds must be this or later. */
  readonly table: Table
  /** Whether the work needs Iceberg's extensions of SQL on the server. */
  readonly needsExtensions?: boolean
  readonly signal?: AbortSignal | undefined
}

/** The name of a table on the Spark server. */
export function sparkTableName({ spark, catalogName, table }: SparkTarget): SparkTableName {
  return { catalog: spark.catalogName ?? catalogName, ...table.identifier }
}

/**
 * Checks that Spark can do the work, before anything starts: it answers, accepts the token, has Iceberg and the catalog,
 * and its table of this name is the same table. `work` then uses the session.
 * Errors: `ENGINE_FAILED`, `UNSUPPORTED`, each with what to configure; those of `work`.
 */
export async function withSparkTable<T>(target: SparkTarget, work: (opened: SparkTable) => Promise<T>): Promise<T> {
  const { spark } = target
  const name = sparkTableName(target)
  const place = { address: spark.address, catalog: name.catalog }
  const opened = await spark
    .run((session) => open(session, name, target))
    .catch((error: unknown) => {
      throw sparkProblem(error, place)
    })
  return work(opened)
}

async function open(session: SparkSession, name: SparkTableName, target: SparkTarget): Promise<SparkTable> {
  const { spark, table, signal, needsExtensions } = target
  const version = await versionOf(session, signal)
  const catalogClass = `spark.sql.catalog.${name.catalog}`
  const settings = await session.config([APP_ID, EXTENSIONS, catalogClass])
  const { [APP_ID]: appId, [EXTENSIONS]: extensions } = settings
  if (settings[catalogClass] === undefined) {
    throw new IcebergError('UNSUPPORTED', missingCatalog({ address: spark.address, catalog: name.catalog }))
  }
  if (appId === undefined) throw new IcebergError('UNSUPPORTED', `Spark at ${spark.address} does not tell ${APP_ID}`)
  if (needsExtensions === true && extensions?.includes('IcebergSparkSessionExtensions') !== true) {
    throw new IcebergError(
      'UNSUPPORTED',
      `sort_order: Spark at ${spark.address} needs ${EXTENSIONS}=` +
        'org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions for it',
    )
  }
  await requireSameTable(session, name, { table, spark, signal })
  return { session, name, appId, version }
}

/** The first call to the server: a person waits for it. */
async function versionOf(session: SparkSession, signal: AbortSignal | undefined): Promise<string> {
  const timeout = AbortSignal.timeout(FIRST_ANSWER_MS)
  try {
    return await session.version(signal === undefined ? timeout : AbortSignal.any([signal, timeout]))
  } catch (error) {
    if (!timeout.aborted || signal?.aborted === true) throw error
    throw new SparkError('UNREACHABLE', `no answer within ${FIRST_ANSWER_MS} ms`, { cause: error })
  }
}

const FIRST_ANSWER_MS = 5000
const APP_ID = 'spark.app.id'
const EXTENSIONS = 'spark.sql.extensions'

async function requireSameTable(
  session: SparkSession,
  name: SparkTableName,
  { table, spark, signal }: Pick<SparkTarget, 'table' | 'spark' | 'signal'>,
): Promise<void> {
  const run = () => ({ operationId: spark.newUuid(), signal })
  const refuse = (why: string): IcebergError =>
    new IcebergError(
      'UNSUPPORTED',
      `catalog ${name.catalog} of Spark at ${spark.address} is not the configured one: ${why}. Set SPARK_CATALOG to the ` +
        'name that Spark has for the configured catalog, or configure the same catalog there; or choose the embedded engine (engine: "embedded")',
    )
  const text = formatIdentifier(table.identifier)
  let files
  try {
    await session.sql(refreshTable(name), run())
    files = await session.sql(metadataFiles(name), run())
  } catch (error) {
    if (error instanceof SparkError && error.errorClass?.startsWith('TABLE_OR_VIEW_NOT_FOUND') === true) {
      throw refuse(`it has no table ${text}`)
    }
    throw error
  }
  const isKnown = files.some(({ file }) => typeof file === 'string' && sameLocation(file, table.metadataLocation))
  if (!isKnown) throw refuse(`its table ${text} is another one`)
}
