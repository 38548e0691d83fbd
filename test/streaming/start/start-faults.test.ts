import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { Checkpoint } from '../../../src/streaming/checkpoint/checkpoint.ts'
import type { PipelineSpec } from '../../../src/streaming/pipeline-spec.ts'
import { copyQuery } from '../../../src/streaming/query/copy-query.ts'
import { PipelineSession } from '../../../src/streaming/run/pipeline-session.ts'
import { prepareStream } from '../../../src/streaming/spark/prepare.ts'
import { sparkProblem } from '../../../src/streaming/spark/readable.ts'
import { createTableWatch } from '../../../src/streaming/source/table-watch.ts'
import { Faults } from '../../maintenance/faults.ts'
import { everyNth } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'
import { until } from '../../support/waiting.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'

let lab: StreamLab
const held = { until: Promise.resolve() }
beforeAll(async () => {
  lab = await openLab({
    overrides: {
      wrapEngine: (engine) =>
        overriddenEngine(engine, {
          appendFrom: async (task, options) => {
            await held.until
            return engine.appendFrom(task, options)
          },
        }),
    },
  })
})
afterAll(() => lab.close())

/** A run that is not whole fails only each n-th call. */
const STEP = 9
const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const
const signal = new AbortController().signal
const FILE_CALLS = ['read', 'create', 'write', 'stat', 'delete']
const CATALOG_CALLS = ['loadTable', 'locateTable', 'commit']

/** A pipeline that begins after the second snapshot of its source. */
async function specOf(name: string): Promise<PipelineSpec> {
  const { metadata } = await lab.load(`s.${name}`)
  const snapshotId = metadata.snapshots[1]?.snapshotId ?? 0n
  return {
    pipelineId: `pipe-${name}`,
    runId: 'run',
    queryId: `query-${name}`,
    sources: [parseIdentifier(`s.${name}`)],
    sink: parseIdentifier(`s.${name}_sink`),
    checkpointLocation: `file://${lab.service.folder}/cp/${name}`,
    triggerMs: 100,
    limits: { maxFiles: 1, maxBytes: 2 ** 30 },
    onDelete: 'fail',
    start: [{ offset: { snapshotId, position: 1, scanAllFiles: false }, isComplete: true }],
    query: copyQuery(),
  }
}

async function runSession(name: string, faults: Faults): Promise<void> {
  const catalog = (): ReturnType<StreamLab['catalog']> => faults.wrap(lab.catalog(), CATALOG_CALLS)
  const deps = {
    catalog,
    tables: createTableWatch(catalog),
    engine: lab.engine,
    checkpointIo: faults.wrap(new LocalFileIO(), FILE_CALLS),
    now: () => new Date(),
    checkLease: () => undefined,
  }
  const session = await PipelineSession.open(deps, await specOf(name))
  while ((await session.step(signal)).kind === 'batch');
}

describe('a pipeline that starts from a snapshot', { timeout: 180_000 }, () => {
  it('reads each later row once when any call fails before rows are appended', async () => {
    let failed = 0
    for (let failing = 1; ; failing += everyNth(STEP)) {
      const name = `f${failing}`
      for (const table of [`s.${name}`, `s.${name}_sink`]) await lab.createTable(table, COLUMNS)
      for (let at = 0; at < 3; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
      const faults = new Faults()
      const { hit, error } = await faults.run(failing, () => runSession(name, faults))
      await lab.append(`s.${name}`, numbered(30, 40))
      await runSession(name, faults)
      const rows = (await lab.rows(`s.${name}_sink`)).map((row) => Number(JSON.parse(row).id))
      const hint = `call ${failing} failed`
      expect(
        rows.toSorted((a, b) => a - b),
        hint,
      ).toEqual(Array.from({ length: 20 }, (_, at) => at + 20))
      if (error !== undefined) failed += 1
      if (!hit) break
    }
    expect(failed).toBeGreaterThan(Math.floor(15 / everyNth(STEP)))
  })

  it('is written into the checkpoint for Spark, which begins there', async () => {
    for (const table of ['s.spark', 's.spark_sink']) await lab.createTable(table, COLUMNS)
    for (let at = 0; at < 3; at += 1) await lab.append('s.spark', numbered(at * 10, at * 10 + 10))
    const deps = {
      catalog: lab.catalog,
      tables: createTableWatch(lab.catalog),
      checkpointIo: new LocalFileIO(),
      now: () => new Date(),
      checkLease: () => undefined,
    }
    const spec = await specOf('spark')
    const { positions } = await prepareStream(deps, spec, { sparkCatalog: 'lake' })
    expect(positions).toMatchObject(spec.start ?? [])
    const { initial } = await new Checkpoint(deps.checkpointIo, spec.checkpointLocation).read(1)
    expect(initial).toEqual(spec.start?.map(({ offset }) => offset))
  })

  it('after which rows were deleted is refused on Spark, which would stop there', async () => {
    await lab.createTable('s.cut', COLUMNS)
    await lab.append('s.cut', numbered(0, 10))
    await deleteRow(lab, 's.cut', 5)
    const table = await lab.load('s.cut')
    const snapshotId = table.metadata.currentSnapshotId ?? 0n
    const position = { offset: { snapshotId, position: 0, scanAllFiles: false }, isComplete: true }
    expect(sparkProblem({ table, position, onDelete: 'fail' })).toContain('changed or deleted rows')
    expect(sparkProblem({ table, position, onDelete: 'skip' })).toBeUndefined()
  })

  it('keeps the unread snapshots before its first batch is done, also for other engines', async () => {
    await lab.createTable('s.kept', COLUMNS)
    for (let at = 0; at < 4; at += 1) await lab.append('s.kept', numbered(at * 10, at * 10 + 10))
    const [, second] = (await lab.load('s.kept')).metadata.snapshots
    const { promise, resolve } = Promise.withResolvers<void>()
    held.until = promise
    const { status, body } = await lab.service.post('/api/pipeline/start', {
      source_table: 's.kept',
      sink_table: 's.kept_sink',
      checkpoint_location: 'cp/kept',
      trigger_interval: '100 ms',
      create_sink_table: true,
      from: { snapshot_id: String(second?.snapshotId) },
    })
    expect(status, JSON.stringify(body)).toBe(200)
    const { id } = body.pipeline
    await until(async () => (await lab.load('s.kept')).metadata.refs[`lockhouse-pipeline-${id}`] !== undefined)
    const { refs } = (await lab.load('s.kept')).metadata
    expect(refs[`lockhouse-pipeline-${id}`]?.snapshotId).toBe(second?.snapshotId)
    expect(refs['main']?.maxSnapshotAgeMs).toBe(2n ** 63n - 1n)
    const older_than = new Date(Date.now() + 1000).toISOString()
    const expired = await lab.service.post('/api/expire', { table: 's.kept', older_than, retain_last: 1 })
    expect(JSON.parse(expired.body.details_json)).toMatchObject({ expired_snapshots_count: 1, kept_snapshots_count: 2 })
    resolve()
    await until(async () => (await lab.rows('s.kept_sink')).length === 20)
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
  })
})
