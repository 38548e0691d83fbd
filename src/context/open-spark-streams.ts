import type { Config } from '../config/config.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { PipelineSpark } from '../services/pipelines/pipeline-engine.ts'
import type { SparkServer } from '../streaming/spark/spark-runner.ts'

/** Spark for pipelines: `engine` checks what is started, `server` runs it. */
export interface SparkStreams extends PipelineSpark {
  readonly server: SparkServer | undefined
  close(): Promise<void>
}

/** A pipeline asks again by itself, so a server that does not answer is reported soon, and ends of the service wait little. */
const LIMITS = { callMs: 10_000, reconnectMs: 5000 }

/** Spark for pipelines, on a connection of their own; without a server when none is configured. */
export async function openSparkStreams(
  { spark, engine: { embeddedMaxBytes } }: Config,
  catalog: CatalogService,
  engine: PipelineSpark['engine'],
): Promise<SparkStreams> {
  if (spark === undefined) return { engine, embeddedMaxBytes, server: undefined, close: async () => undefined }
  const { openSparkClient } = await import('../engines/spark/connect/open-spark-client.ts') // large: loaded only when needed
  const client = openSparkClient(spark.remote, { limits: LIMITS })
  const server = { client, catalogName: () => spark.catalogName ?? catalog.current().name }
  // a query that was started when pipelines were allowed there is still watched, and can be stopped
  const starting = spark.runsPipelines ? engine : undefined
  return { engine: starting, embeddedMaxBytes, server, close: () => client.close() }
}
