import { DomainError } from '../../domain/errors.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { chooseEngine, type RequestedEngine } from '../../maintenance/spark/choose-engine.ts'
import { withSparkTable } from '../../maintenance/spark/open-table.ts'
import type { SparkEngine } from '../../maintenance/spark/spark-engine.ts'
import type { PipelineEngine } from '../../storage/stores/pipelines/pipeline-store.ts'
import { SourcePlanner } from '../../streaming/source/plan.ts'
import { sparkStartProblem, type SparkQuestion } from '../../streaming/spark/start-problem.ts'
import { PipelineStopped } from '../../streaming/pipeline-errors.ts'
import { refuse } from '../../streaming/run/start-checks.ts'

/** Spark for pipelines, and when `auto` takes it. */
export interface PipelineSpark {
  /** Undefined: no Spark server is configured, or not for pipelines. */
  readonly engine: SparkEngine | undefined
  /** Most unread bytes for which `auto` takes the embedded engine. */
  readonly embeddedMaxBytes: number
}

export interface EngineRequest extends SparkQuestion {
  readonly requested: RequestedEngine
  /** The name of the current catalog. */
  readonly catalogName: string
  readonly now: Date
}

/** The engine of a pipeline, and what its owner should know about the choice. */
export interface PipelineEngineChoice {
  readonly engine: PipelineEngine
  readonly warnings: readonly string[]
}

/** The embedded engine; `refusal` is why Spark cannot run what it should. */
function embeddedInstead(refusal?: string): PipelineEngineChoice {
  const warnings = refusal === undefined ? [] : [`Spark was not chosen for this much data: ${refusal}`]
  return { engine: 'embedded', warnings }
}

/**
 * The engine of a pipeline that starts. Spark is taken only when it answers, and has the same tables under their names; the
 * refusal names the field `engine` and says what to configure.
 */
export async function engineOf(spark: PipelineSpark, request: EngineRequest): Promise<PipelineEngineChoice> {
  const { requested, catalogName, checked } = request
  if (requested === 'embedded') return embeddedInstead()
  if (requested === 'spark' && spark.engine === undefined) throw refuse('UNPROCESSABLE', 'engine', NOT_CONFIGURED)
  try {
    const bytes = requested === 'auto' ? await unreadBytes(request) : 0
    const sparkRefusal = spark.engine && (await sparkStartProblem(request))
    const { engine } = chooseEngine({
      requested,
      hasSpark: spark.engine !== undefined,
      what: 'the pipeline has to read',
      bytes,
      maxBytes: spark.embeddedMaxBytes,
      sparkRefusal,
    })
    if (engine === 'embedded' || spark.engine === undefined) {
      return embeddedInstead(bytes > spark.embeddedMaxBytes ? sparkRefusal : undefined)
    }
    for (const table of [...checked.sources, ...(checked.sink ? [checked.sink] : [])]) {
      await withSparkTable({ spark: spark.engine, catalogName, table }, async () => undefined)
    }
    return { engine: 'spark', warnings: [] }
  } catch (error) {
    throw atEngine(error)
  }
}

const NOT_CONFIGURED =
  'pipelines cannot run on Spark here: set SPARK_REMOTE, such as sc://spark:15002, do not set SPARK_PIPELINES=0, and restart the service'

async function unreadBytes({ checked: { sources, positions }, now, onDelete }: EngineRequest): Promise<number> {
  let bytes = 0
  for (const [at, table] of sources.entries()) {
    const position = positions[at]
    if (position !== undefined)
      bytes += (await new SourcePlanner().lag(table, position, { onDelete, nowMs: now.getTime() })).bytes
  }
  return bytes
}

/** The refusal as one of the field `engine`. */
function atEngine(error: unknown): unknown {
  const isRefusal = error instanceof DomainError || error instanceof PipelineStopped || isIcebergError(error)
  if (!isRefusal || (error instanceof DomainError && error.code !== 'UNPROCESSABLE')) return error
  return refuse('UNPROCESSABLE', 'engine', { what: error.message.replace(/^engine:? /, ''), cause: error })
}
