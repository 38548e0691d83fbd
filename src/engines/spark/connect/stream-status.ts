import type { StreamingQueryCommandResult } from './generated/commands_pb.ts'
import type { SparkStreamError } from './spark-client.ts'
import { SparkError } from './spark-error.ts'

/** Spark's class of errors about streams that the session does not have. */
const UNKNOWN_STREAM = /^STREAMING_QUERY_NOT_FOUND|^STREAMING_CONNECT_SERIALIZATION|^INVALID_HANDLE\.STREAM/

/** What `ask` returns, or undefined when Spark does not know the stream. */
export async function unlessUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof SparkError && isUnknownStream(error)) return undefined
    throw error
  }
}

function isUnknownStream({ code, errorClass, message }: SparkError): boolean {
  if (code !== 'OPERATION_FAILED') return false
  return UNKNOWN_STREAM.test(errorClass ?? '') || /streaming query.*not found|no streaming query/i.test(message)
}

/** Why a stream failed; undefined while it has not. */
export function streamErrorOf(
  result: StreamingQueryCommandResult['resultType'] | undefined,
): SparkStreamError | undefined {
  if (result?.case !== 'exception' || result.value.exceptionMessage === undefined) return undefined
  const { exceptionMessage, errorClass } = result.value
  const sqlState = /SQLSTATE: ([0-9A-Z]{5})/.exec(exceptionMessage)?.[1]
  return { message: exceptionMessage, errorClass: errorClass || undefined, sqlState }
}
