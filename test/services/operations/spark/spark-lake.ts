import type { Catalog } from '../../../../src/catalog/catalog.ts'
import { commitTable } from '../../../../src/catalog/commit-table.ts'
import { parseIdentifier } from '../../../../src/catalog/table-identifier.ts'
import type { Plan } from '../../../../src/engines/spark/connect/generated/service_pb.ts'
import type { Engine } from '../../../../src/engines/engine.ts'
import { newDataLocation } from '../../../../src/iceberg/metadata/locations.ts'
import { currentSchema, currentSnapshot, currentSpec } from '../../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../../src/iceberg/metadata/table.ts'
import { planFiles } from '../../../../src/iceberg/scan/scan.ts'
import { stageRewrite } from '../../../../src/iceberg/update/stage/stage-rewrite.ts'
import { type Answer, batch, commandResult, progress, queryResult } from '../../../support/spark-connect/answers.ts'
import type { FakeSpark } from '../../../support/spark-connect/fake-spark.ts'
import { sleep } from '../../../support/waiting.ts'

const APP_ID = 'app-20260101-0001'

/** What Spark does to the tables; each may be replaced by a test. */
export interface SparkBehaviour {
  /** Files of the table that a compaction loses; default 0. */
  loses?: number
  /** Where a compaction waits, until a test changes it. */
  held?: 'before-commit' | 'after-commit' | undefined
  /** Metadata files that Spark finds; default: those of the table. */
  files?: (table: Table) => readonly string[]
  orphans?: readonly string[]
}

/** A catalog and an engine to change its tables with. */
export interface SparkLake {
  readonly catalog: Catalog
  readonly engine: Engine
}

/** Lets a fake server answer as a Spark whose catalog `lockhouse` has the tables of a lake. */
export function actAsSpark(fake: FakeSpark, lake: SparkLake, behaviour: SparkBehaviour = {}): SparkBehaviour {
  fake.config.set('spark.app.id', APP_ID)
  fake.config.set('spark.sql.catalog.lockhouse', 'org.apache.iceberg.spark.SparkCatalog')
  fake.work = (plan) => ({
    async *[Symbol.asyncIterator]() {
      const { query, table, isRoot } = readPlan(plan)
      if (query.startsWith('SELECT file') && !isRoot) yield queryResult(query)
      else if (isRoot) yield batch({ file: await metadataFiles(lake, behaviour, query) }, 0n)
      else if (query.includes('rewrite_data_files')) yield* compact(lake, behaviour, table)
      else if (query.includes('remove_orphan_files'))
        yield commandResult({ orphan_file_location: behaviour.orphans ?? [] })
      else yield commandResult({ done: ['yes'] })
    },
  })
  return behaviour
}

/** The CALLs that came, in order. */
export function callsOf(fake: FakeSpark): readonly string[] {
  return fake.calls.flatMap(({ method, request }) => {
    const query = method === 'executePlan' ? readPlan(request['plan'] as Plan).query : ''
    return query.startsWith('CALL') ? [query] : []
  })
}

function readPlan({ opType }: Plan): { query: string; table: string; isRoot: boolean } {
  const command = opType.case === 'command' ? opType.value.commandType : undefined
  const relation =
    opType.case === 'root' ? opType.value : command?.case === 'sqlCommand' ? command.value.input : undefined
  const sql = relation?.relType.case === 'sql' ? relation.relType.value : undefined
  const table = /table => '([^']*)'/.exec(sql?.query ?? '')?.[1] ?? ''
  return { query: sql?.query ?? '', table, isRoot: opType.case === 'root' }
}

/** `` `lockhouse`.`demo`.`events` `` as the catalog here names it. */
function load({ catalog }: SparkLake, text: string): Promise<Table> {
  const [, ...levels] = [...text.matchAll(/`([^`]+)`/g)].map(([, level]) => level)
  return catalog.loadTable(parseIdentifier(levels.join('.')))
}

async function metadataFiles(lake: SparkLake, { files }: SparkBehaviour, query: string): Promise<readonly string[]> {
  const table = await load(lake, query.replace('.metadata_log_entries', ''))
  const log = table.metadata.metadataLog.map(({ metadataFile }) => metadataFile)
  return files?.(table) ?? [...log, table.metadataLocation]
}

async function* compact(lake: SparkLake, behaviour: SparkBehaviour, name: string): AsyncGenerator<Answer> {
  yield progress(0, 0, 4)
  yield* hold(behaviour, 'before-commit')
  const table = await load(lake, name)
  const rewritten = await rewrite(lake, table, behaviour.loses ?? 0)
  yield* hold(behaviour, 'after-commit')
  yield commandResult({ rewritten_data_files_count: [rewritten], failed_data_files_count: [0] })
}

/** Waits, and reports now and then, so that an interrupt is noticed. */
async function* hold(behaviour: SparkBehaviour, where: SparkBehaviour['held']): AsyncGenerator<Answer> {
  while (behaviour.held === where) {
    yield progress(0, 2, 4, 1000)
    await sleep(20)
  }
}

/** Rewrites all files into one, and signs the commit as Spark does. */
async function rewrite({ catalog, engine }: SparkLake, table: Table, loses: number): Promise<number> {
  const { metadata, io, identifier } = table
  const tasks = await planFiles(table)
  const name = `spark-${crypto.randomUUID()}`
  const { files } = await engine.rewrite({
    io,
    metadata,
    inputs: tasks.slice(loses),
    output: {
      schema: currentSchema(metadata),
      partitionSpec: currentSpec(metadata),
      formatVersion: metadata.formatVersion,
      targetFileSizeBytes: 512 * 2 ** 20,
      properties: metadata.properties,
      newDataLocation: (_, index) => newDataLocation(metadata, '', `${name}-${index}.parquet`),
    },
  })
  const start = currentSnapshot(metadata)
  if (start === undefined) return 0
  await commitTable(signed(catalog), identifier, (fresh) =>
    stageRewrite(fresh, {
      startingSnapshotId: start.snapshotId,
      startingSequenceNumber: start.sequenceNumber,
      replaced: tasks.map(({ dataFile }) => dataFile),
      added: files,
      operationId: name,
    }),
  )
  return tasks.length
}

/** A catalog whose commits are those of the Spark application. */
function signed(catalog: Catalog): Catalog {
  const sign = (snapshot: unknown): object => {
    const { summary, ...rest } = snapshot as { summary: object }
    return { ...rest, summary: { ...summary, 'app-id': APP_ID, 'engine-name': 'spark' } }
  }
  const commit: Catalog['commit'] = (identifier, request) =>
    catalog.commit(identifier, {
      ...request,
      updates: request.updates.map((update) =>
        update.action === 'add-snapshot' ? ({ ...update, snapshot: sign(update.snapshot) } as typeof update) : update,
      ),
    })
  return new Proxy(catalog, {
    get(target, key) {
      const value: unknown = key === 'commit' ? commit : Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
