import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { checkDuckDbLoad } from '../engines/duckdb/check-load.ts'
import type { QueryLimits } from '../engines/duckdb/worker/query-limits.ts'
import type { WorkerCommand } from '../engines/duckdb/worker/worker-command.ts'
import type { Engine } from '../engines/engine.ts'
import { createLazyEngine } from '../engines/lazy-engine.ts'
import { createSparkEngine, type SparkEngine } from '../maintenance/spark/spark-engine.ts'
import { tracedEngine } from '../services/metrics/tracing/traced-engine.ts'
import type { Tracing } from '../services/metrics/tracing/tracing.ts'
import type { Logger } from '../services/logger.ts'

export interface EngineParts {
  readonly config: Config
  readonly home: { readonly scratch: string }
  readonly log: Logger
  readonly workerCommand?: WorkerCommand
  /** Replaces parts in tests. */
  readonly overrides?: {
    readonly wrapEngine?: (engine: Engine) => Engine
    readonly queryLimits?: Partial<QueryLimits>
  }
}

/** The Spark server of the configuration; undefined: none is configured. Rejects with `ConfigError`. */
export async function openSpark({ spark }: Config): Promise<SparkEngine | undefined> {
  if (spark === undefined) return undefined
  const { openSparkClient } = await import('../engines/spark/connect/open-spark-client.ts') // large: loaded only when needed
  const newUuid = () => crypto.randomUUID()
  try {
    return createSparkEngine({ client: openSparkClient(spark.remote), catalogName: spark.catalogName, newUuid })
  } catch (error) {
    throw new ConfigError(`SPARK_REMOTE: ${error instanceof Error ? error.message : 'not valid'}`)
  }
}

/** The embedded engine, which opens at its first use. */
export function openEngine({ config, home, log, workerCommand, overrides }: EngineParts, tracing: Tracing): Engine {
  const { memoryLimitBytes, threads } = config.engine
  const engine = createLazyEngine('duckdb', {
    open: async () => {
      const { createDuckDbEngine } = await import('../engines/duckdb/duckdb-engine.ts') // large: loaded only when needed
      return createDuckDbEngine({
        scratchDir: home.scratch,
        memoryLimitBytes,
        ...(workerCommand === undefined ? {} : { workerCommand }),
        ...(threads === undefined ? {} : { threads }),
        ...(overrides?.queryLimits === undefined ? {} : { queryLimits: overrides.queryLimits }),
      })
    },
    checkLoad: async (signal) => {
      try {
        await checkDuckDbLoad(signal, workerCommand)
      } catch (error) {
        if (!signal.aborted) log.error('the engine cannot be loaded', { error })
        throw error
      }
    },
  })
  const traced = config.traces === undefined ? engine : tracedEngine(engine, tracing)
  return overrides?.wrapEngine?.(traced) ?? traced
}
