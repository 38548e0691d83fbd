import { SparkError } from '../../engines/spark/connect/spark-error.ts'
import { IcebergError } from '../../iceberg/errors.ts'

/** What a message names. */
export interface SparkPlace {
  /** Without its token. */
  readonly address: string
  /** The name of the catalog there. */
  readonly catalog: string
}

/**
 * An error of Spark as the product reports it, with what to configure: `UNSUPPORTED` for a server that is not set up for
 * the work, `CANCELLED`, `COMMIT_STATE_UNKNOWN`, otherwise `ENGINE_FAILED`. Errors that are not Spark's stay as they are.
 */
export function sparkProblem(error: unknown, { address, catalog }: SparkPlace): unknown {
  if (!(error instanceof SparkError)) return error
  const because = { cause: error }
  const failed = (message: string): IcebergError => new IcebergError('ENGINE_FAILED', message, because)
  const unsupported = (message: string): IcebergError => new IcebergError('UNSUPPORTED', message, because)
  if (error.isOutcomeUnknown && !hasEnded(error)) {
    const message = `the end of the work in Spark at ${address} is not known; no file was deleted (${error.message})`
    return new IcebergError('COMMIT_STATE_UNKNOWN', message, because)
  }
  switch (error.code) {
    case 'CANCELLED':
      return new IcebergError('CANCELLED', 'the work in Spark was cancelled', because)
    case 'UNREACHABLE':
      return failed(`Spark at ${address} does not answer: start it, or correct SPARK_REMOTE; ${OTHERWISE}`)
    case 'UNAUTHENTICATED':
      return failed(`Spark at ${address} refuses the token: correct ;token=… in SPARK_REMOTE; ${OTHERWISE}`)
    case 'UNSUPPORTED_VERSION':
      return unsupported(`Spark at ${address} cannot be used: ${error.message}; ${OTHERWISE}`)
    case 'SESSION_LOST':
      return failed(`Spark at ${address} restarted, or closed the session, before the work was done`)
    default:
      return isMissingCatalog(error)
        ? unsupported(missingCatalog({ address, catalog }))
        : failed(`Spark at ${address} failed: ${error.message}`)
  }
}

/** Whether the operation surely runs no more, so that the table tells whether it had committed. */
function hasEnded({ code, errorClass }: SparkError): boolean {
  return code === 'SESSION_LOST' || ENDED.has(errorClass ?? '')
}

const ENDED: ReadonlySet<string> = new Set([
  'OPERATION_CANCELED',
  'INVALID_HANDLE.OPERATION_NOT_FOUND',
  'INVALID_HANDLE.OPERATION_ABANDONED',
])

const OTHERWISE = 'or choose the embedded engine (engine: "embedded")'

/** A catalog whose class is not on the server. */
function isMissingCatalog({ errorClass, message }: SparkError): boolean {
  return errorClass === 'CATALOG_NOT_FOUND' || message.startsWith('Cannot find catalog plugin class')
}

/** What a server without the catalog needs. */
export function missingCatalog({ address, catalog }: SparkPlace): string {
  return (
    `Spark at ${address} has no Iceberg catalog ${catalog}: start it with iceberg-spark-runtime, and with ` +
    `spark.sql.catalog.${catalog}=org.apache.iceberg.spark.SparkCatalog for the same catalog as here, or set SPARK_CATALOG ` +
    `to its name there; ${OTHERWISE}`
  )
}
