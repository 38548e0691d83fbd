import { DomainError } from '../../domain/errors.ts'
import { ONLY_EMBEDDED } from '../../domain/tables/operations.ts'
import { formatBytes } from '../../lib/text.ts'

/** Which engine a request asks for. */
export type RequestedEngine = 'auto' | 'embedded' | 'spark'

/** The engine that does the work, and why, for people. */
export interface EngineChoice {
  readonly engine: 'embedded' | 'spark'
  readonly reason: string
}

/** What a choice depends on. */
export interface EngineQuestion {
  readonly requested: RequestedEngine
  readonly hasSpark: boolean
  /** What the work is, such as `the plan rewrites`, before its size. */
  readonly what: string
  readonly bytes: number
  /** `ENGINE_EMBEDDED_MAX_BYTES`. */
  readonly maxBytes: number
  /** Why the embedded engine cannot do it. */
  readonly refusal?: string | undefined
  /** Why Spark cannot do it. */
  readonly sparkRefusal?: string | undefined
}

/**
 * Chooses the engine: `auto` takes Spark for more bytes than the embedded engine should handle, and for what it refuses.
 * Throws `UNPROCESSABLE` for `spark` where there is none, or where Spark cannot do it. Pure.
 */
export function chooseEngine(question: EngineQuestion): EngineChoice {
  const { requested, hasSpark, what, bytes, maxBytes, refusal, sparkRefusal } = question
  if (requested === 'embedded') return { engine: 'embedded', reason: 'the request asks for it' }
  if (requested === 'spark') {
    if (!hasSpark) throw new DomainError('UNPROCESSABLE', NO_SPARK)
    if (sparkRefusal !== undefined) throw new DomainError('UNPROCESSABLE', `engine: ${sparkRefusal}`)
    return { engine: 'spark', reason: 'the request asks for it' }
  }
  if (!hasSpark) return { engine: 'embedded', reason: ONLY_EMBEDDED }
  if (sparkRefusal !== undefined) return { engine: 'embedded', reason: sparkRefusal }
  if (refusal !== undefined) return { engine: 'spark', reason: `the embedded engine refuses: ${refusal}` }
  const size = `${what} ${formatBytes(bytes)}`
  return bytes > maxBytes
    ? { engine: 'spark', reason: `${size}, more than ENGINE_EMBEDDED_MAX_BYTES (${formatBytes(maxBytes)})` }
    : { engine: 'embedded', reason: `${size}, at most ENGINE_EMBEDDED_MAX_BYTES (${formatBytes(maxBytes)})` }
}

const NO_SPARK =
  'engine: "spark" needs a Spark Connect server: set SPARK_REMOTE, such as sc://spark:15002, and restart the service'
