import { Code, type ConnectError } from '@connectrpc/connect'
import { ErrorInfoSchema } from '../generated/error-info_pb.ts'

/** What Spark adds to an error: its class, and the id under which it keeps the details. */
export interface SparkErrorInfo {
  /** Whether Spark described the error, so that it did not arise on the way. */
  readonly isSpark: boolean
  readonly errorClass: string | undefined
  readonly sqlState: string | undefined
  readonly errorId: string | undefined
  readonly javaClasses: readonly string[]
}

/** `broken`: there was no line; `unclear`: an error that Spark did not describe; `answered`: Spark's or a proxy's refusal. */
export type FaultKind = 'broken' | 'unclear' | 'answered'

/** How often in a row an `unclear` fault may come before it counts as the answer. */
export const MAX_UNCLEAR = 3

const BROKEN = new Set([Code.Unavailable, Code.Aborted, Code.DeadlineExceeded, Code.Canceled])
const UNCLEAR = new Set([Code.Internal, Code.Unknown, Code.DataLoss])

/** Whether the same call may succeed over a new line. */
export function faultKind(error: ConnectError): FaultKind {
  const { errorClass, isSpark } = readErrorInfo(error)
  if (errorClass === 'INVALID_CURSOR.DISCONNECTED') return 'broken'
  if (isSpark) return 'answered'
  if (BROKEN.has(error.code)) return 'broken'
  return UNCLEAR.has(error.code) ? 'unclear' : 'answered'
}

/** Spark's class of an error, from its details or else from the brackets that its message begins with. */
export function readErrorInfo(error: ConnectError): SparkErrorInfo {
  const described = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === 'org.apache.spark')
  const metadata = described?.metadata ?? {}
  const errorClass = metadata['errorClass'] ?? /^\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]/.exec(error.rawMessage)?.[1]
  return {
    isSpark: described !== undefined || errorClass !== undefined,
    errorClass,
    sqlState: metadata['sqlState'],
    errorId: metadata['errorId'],
    javaClasses: readNames(metadata['classes']),
  }
}

function readNames(json: string | undefined): string[] {
  try {
    const names: unknown = JSON.parse(json ?? '[]')
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
