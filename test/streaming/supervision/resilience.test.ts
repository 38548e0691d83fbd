import { renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../../src/catalog/commit-table.ts'
import type { Engine } from '../../../src/engines/engine.ts'
import { IcebergError } from '../../../src/iceberg/errors.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import { addColumn, dropColumn, renameColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { parseIdentifier } from '../../../src/catalog/table-identifier.ts'
import { runCompaction } from '../../../src/maintenance/compaction/compact.ts'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'
import { overriddenEngine } from '../../support/overridden-engine.ts'

type Pipeline = { id: string; state: string; error: { code: string; message: string } | null; warnings: string[] }

describe('a pipeline under failures and changes', LONG, () => {
  let lab: StreamLab
  /** The error of the next batches; undefined: they succeed. */
  let fault: IcebergError | undefined
  const misbehaving = (engine: Engine): Engine =>
    overriddenEngine(engine, {
      appendFrom: async (task, options) => {
        if (fault) throw fault
        return engine.appendFrom(task, options)
      },
    })

  beforeAll(async () => {
    lab = await openLab({
      overrides: {
        wrapEngine: misbehaving,
        streaming: { backoff: { firstMs: 50, maxMs: 200 }, lease: { ms: 3000, tickMs: 200 } },
      },
    })
  })
  afterAll(() => lab.close())

  const TWO = [
    ['id', 'long'],
    ['name', 'string'],
  ] as const
  const status = async (id: string): Promise<Pipeline> =>
    (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
  const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})

  async function start(name: string, more: object = {}): Promise<string> {
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: `s.${name}`,
      sink_table: `s.${name}_sink`,
      checkpoint_location: `cp/${name}`,
      trigger_interval: '100 ms',
      ...more,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body.pipeline.id
  }

  const untilState = (id: string, state: string) =>
    until(async () => {
      const pipeline = await status(id)
      return pipeline.state === state ? pipeline : undefined
    }, `state ${state}`)

  const untilSame = (name: string) =>
    until(async () => {
      const [source, sink] = await Promise.all([lab.rows(`s.${name}`), lab.rows(`s.${name}_sink`)])
      return JSON.stringify(source) === JSON.stringify(sink)
    }, `the same rows in ${name} and its sink`)

  async function evolve(
    name: string,
    change: Parameters<typeof addColumn>[1] | { drop: string } | { rename: string; to: string },
  ): Promise<void> {
    await commitTable(lab.catalog(), parseIdentifier(name), async ({ metadata }) => {
      const staged =
        'drop' in change
          ? dropColumn(metadata, { name: change.drop })
          : 'rename' in change
            ? renameColumn(metadata, { name: change.rename, newName: change.to })
            : addColumn(metadata, change)
      return { ...staged, writtenFiles: [] }
    })
  }

  it('applies existing deletes of the source at its start, and stops at a later delete', async () => {
    await lab.createTable('s.deletes', TWO)
    await lab.append('s.deletes', numbered(0, 10), numbered(10, 20))
    await deleteRow(lab, 's.deletes', 0)
    expect(await lab.rows('s.deletes')).toHaveLength(19)
    const id = await start('deletes', { create_sink_table: true, max_files_per_batch: 1 })
    await untilSame('deletes')
    await lab.append('s.deletes', numbered(20, 30))
    await deleteRow(lab, 's.deletes', 25)
    await lab.append('s.deletes', numbered(30, 40))
    const failed = await untilState(id, 'failed')
    expect(failed.error?.code).toBe('SOURCE_NOT_APPENDED')
    expect(await lab.rows('s.deletes_sink')).toHaveLength(29) // rows from before the delete are in the sink
    expect(await start('deletes', { on_delete: 'skip' })).toBe(id)
    await until(async () => (await lab.rows('s.deletes_sink')).length === 39)
    expect((await status(id)).warnings.join()).toContain('on_delete')
    await stop(id)
  })

  it('replays a failed batch in which one of its sources was empty, also when that has rows now', async () => {
    for (const name of ['half', 'half_empty', 'half_sink']) await lab.createTable(`s.${name}`, TWO)
    await lab.append('s.half', numbered(0, 10))
    const read = (id: string, table: string) => ({ id, type: 'iceberg-source', config: { table } })
    const nodes = [
      read('a', 's.half'),
      read('b', 's.half_empty'),
      { id: 'u', type: 'union', config: {} },
      { id: 'z', type: 'iceberg-sink', config: { table: 's.half_sink' } },
    ]
    const edges = ['a>u', 'b>u', 'u>z'].map((id) => ({ id, source: id[0], target: id[2] }))
    const defined = await lab.service.post('/api/pipeline-defs', { name: 'half', nodes, edges })
    fault = new IcebergError('NO_SPACE', 'no space left to write the batch')
    const request = { version_id: defined.body.version.id, checkpoint_location: 'cp/half', trigger_interval: '100 ms' }
    const { body } = await lab.service.post('/api/pipeline/start', request)
    await untilState(body.pipeline.id, 'degraded')
    await lab.append('s.half_empty', numbered(10, 20))
    fault = undefined
    await until(async () => (await lab.rows('s.half_sink')).length >= 20, 'all rows')
    expect(await lab.rows('s.half_sink')).toHaveLength(20)
    await stop(body.pipeline.id)
  })

  it('is degraded with the reason while the disk is full, and catches up later', async () => {
    await lab.createTable('s.full', TWO)
    await lab.append('s.full', numbered(0, 10))
    const id = await start('full', { create_sink_table: true })
    await untilSame('full')
    fault = new IcebergError('NO_SPACE', 'no space left to write the batch')
    await lab.append('s.full', numbered(10, 20))
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error).toEqual({ code: 'NO_SPACE', message: 'no space left to write the batch' })
    expect(await lab.rows('s.full_sink')).toHaveLength(10)
    fault = undefined
    await untilSame('full')
    expect(await untilState(id, 'running')).toMatchObject({ error: null })
    await stop(id)
  })

  it('pins its unread snapshots from the start, even before any batch has succeeded', async () => {
    await lab.createTable('s.early', TWO)
    await lab.append('s.early', numbered(0, 10))
    fault = new IcebergError('NO_SPACE', 'no space left to write the batch')
    const id = await start('early', { create_sink_table: true })
    await untilState(id, 'degraded')
    for (let at = 1; at < 4; at += 1) await lab.append('s.early', numbered(at * 10, at * 10 + 10))
    const older = new Date(Date.now() + 1000).toISOString()
    const expired = await lab.service.post('/api/expire', { table: 's.early', older_than: older, retain_last: 1 })
    expect(JSON.parse(expired.body.details_json)).toMatchObject({ expired_snapshots_count: 0, kept_snapshots_count: 3 })
    fault = undefined
    await untilSame('early')
    await stop(id)
  })

  it('is degraded with the file name while a file is missing, and continues when it is back', async () => {
    await lab.createTable('s.missing', TWO)
    await lab.append('s.missing', numbered(0, 10))
    const id = await start('missing', { create_sink_table: true })
    await untilSame('missing')
    await stop(id)
    const table = await lab.append('s.missing', numbered(10, 20))
    const newest = (await planFiles(table)).toSorted((a, b) => b.sequenceNumber - a.sequenceNumber)[0]?.dataFile
    const path = localPath(newest?.filePath ?? '')
    renameSync(path, `${path}.away`)
    await start('missing')
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error?.code).toBe('FILE_NOT_FOUND')
    expect(degraded.error?.message).toMatch(/missing\/data\/.+\.parquet/)
    expect(path).toContain(/missing\/data\/\S+\.parquet/.exec(degraded.error?.message ?? '')?.[0])
    renameSync(`${path}.away`, path)
    await untilSame('missing')
    await stop(id)
  })

  it('resumes from its sink when the checkpoint is gone, even when the service has no record of the pipeline', async () => {
    await lab.createTable('s.gone', TWO)
    await lab.append('s.gone', numbered(0, 10))
    const id = await start('gone', { create_sink_table: true })
    await untilSame('gone')
    await stop(id)
    rmSync(`${lab.service.folder}/home/cp/gone`, { recursive: true })
    await lab.append('s.gone', numbered(10, 20))
    await start('gone')
    await untilSame('gone')
    await stop(id)
    rmSync(`${lab.service.folder}/home/cp/gone`, { recursive: true })
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
    await lab.append('s.gone', numbered(20, 30))
    const other = await start('gone')
    expect(other).not.toBe(id)
    await untilSame('gone')
    await stop(other)
  })

  it('resumes after a restart of the service, and stays stopped if it was stopped', async () => {
    await lab.createTable('s.again', TWO)
    await lab.createTable('s.rest', TWO)
    await lab.append('s.again', numbered(0, 10))
    await lab.append('s.rest', numbered(0, 10))
    const id = await start('again', { create_sink_table: true })
    const resting = await start('rest', { create_sink_table: true })
    await untilSame('again')
    await untilSame('rest')
    await stop(resting)
    await lab.service.restart()
    await lab.append('s.again', numbered(10, 20))
    await lab.append('s.rest', numbered(10, 20))
    await untilSame('again')
    expect(await status(id)).toMatchObject({ state: 'running' })
    expect(await status(resting)).toMatchObject({ state: 'stopped' })
    expect(await lab.rows('s.rest_sink')).toHaveLength(10)
    await stop(id)
  })

  it('skips compactions of the source and tolerates compactions of the sink', async () => {
    await lab.createTable('s.busy', TWO)
    await lab.append('s.busy', numbered(0, 10))
    const id = await start('busy', { create_sink_table: true })
    for (let round = 1; round <= 5; round += 1) {
      await lab.append('s.busy', numbered(round * 10, round * 10 + 10))
      for (const table of ['s.busy', 's.busy_sink']) {
        const work = { catalog: lab.catalog(), engine: lab.engine, identifier: parseIdentifier(table) }
        await runCompaction({ ...work, request: { rewrite_all: true }, operationId: `c-${round}-${table}` }).catch(
          (error: unknown) => {
            if (!(error instanceof IcebergError && error.code === 'COMMIT_CONFLICT')) throw error
          },
        )
      }
    }
    await untilSame('busy')
    expect(await lab.rows('s.busy_sink')).toHaveLength(60)
    await stop(id)
  })

  it('adds a new source column to a sink that it created, and follows a renamed column by id', async () => {
    await lab.createTable('s.evolving', TWO)
    await lab.append('s.evolving', numbered(0, 3))
    const id = await start('evolving', { create_sink_table: true })
    await untilSame('evolving')
    await evolve('s.evolving', { name: 'note', type: { kind: 'int' } })
    await lab.append('s.evolving', "SELECT 3::BIGINT AS c1, 'n3' AS c2, 7 AS c3")
    await untilSame('evolving')
    expect(await lab.rows('s.evolving_sink')).toContain('{"id":"3","name":"n3","note":7}')
    await evolve('s.evolving', { rename: 'name', to: 'title' })
    await lab.append('s.evolving', "SELECT 4::BIGINT AS c1, 'n4' AS c2, 8 AS c3")
    await until(
      async () => (await lab.rows('s.evolving_sink')).includes('{"id":"4","name":"n4","note":8}'),
      'the row under the old name',
    )
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
    await lab.append('s.evolving', "SELECT 5::BIGINT AS c1, 'n5' AS c2, 9 AS c3")
    await start('evolving')
    await until(
      async () => (await lab.rows('s.evolving_sink')).includes('{"id":"5","name":"n5","note":9}'),
      'the row after a restart',
    )
    await stop(id)
  })

  it("waits until a column missing in another owner's sink is added there", async () => {
    await lab.createTable('s.strict', TWO)
    await lab.createTable('s.strict_sink', TWO)
    await lab.append('s.strict', numbered(0, 3))
    const id = await start('strict')
    await untilSame('strict')
    await evolve('s.strict', { name: 'note', type: { kind: 'int' } })
    await lab.append('s.strict', "SELECT 3::BIGINT AS c1, 'n3' AS c2, 7 AS c3")
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error).toMatchObject({ code: 'INCOMPATIBLE_SCHEMAS' })
    expect(degraded.error?.message).toContain('note')
    expect(await lab.rows('s.strict_sink')).toHaveLength(3)
    await evolve('s.strict_sink', { name: 'note', type: { kind: 'long' } })
    await until(
      async () => (await lab.rows('s.strict_sink')).includes('{"id":"3","name":"n3","note":"7"}'),
      'the promoted value',
    )
    await stop(id)
  })

  it('writes partitioned sinks, matches names in any case, promotes types, and maps nested structs', async () => {
    const struct = (names: readonly string[], ids: number) => ({
      kind: 'struct' as const,
      fields: names.map((name, at) => ({ id: ids + at, name, required: false, type: { kind: 'int' as const } })),
    })
    await lab.createTable('s.shapes', [
      ['ID', 'int'],
      ['s', struct(['a', 'b'], 10)],
      ['part', 'int'],
    ])
    await lab.createTable(
      's.shapes_sink',
      [
        ['part', 'int'],
        ['extra', 'string'],
        ['s', struct(['b', 'a'], 10)],
        ['id', 'long'],
      ],
      {
        spec: { specId: 0, fields: [{ fieldId: 1000, sourceId: 1, name: 'part', transform: { kind: 'identity' } }] },
      },
    )
    await lab.append(
      's.shapes',
      'SELECT i::INT AS c1, {a: i::INT, b: (i + 100)::INT} AS c2, (i % 4)::INT AS c3 FROM range(0, 20) t(i)',
    )
    const id = await start('shapes')
    await until(async () => (await lab.rows('s.shapes_sink')).length === 20)
    expect(await lab.rows('s.shapes_sink')).toContain('{"part":3,"extra":null,"s":{"b":107,"a":7},"id":"7"}')
    const files = await planFiles(await lab.load('s.shapes_sink'))
    expect(files.map(({ dataFile }) => dataFile.partition[0]).sort()).toEqual([0, 1, 2, 3])
    await stop(id)
  })

  it('reads the first rows of a source that was empty at the start', async () => {
    await lab.createTable('s.empty', TWO)
    const id = await start('empty', { create_sink_table: true })
    await untilState(id, 'running')
    await lab.append('s.empty', numbered(0, 5))
    await untilSame('empty')
    await stop(id)
  })

  it('fails with a reason when another table has the name of its source', async () => {
    await lab.createTable('s.swapped', TWO)
    await lab.append('s.swapped', numbered(0, 5))
    const id = await start('swapped', { create_sink_table: true })
    await untilSame('swapped')
    await lab.catalog().dropTable(parseIdentifier('s.swapped'))
    await untilState(id, 'degraded')
    await lab.catalog().createTable(parseIdentifier('s.swapped'), {
      schema: currentSchema((await lab.load('s.swapped_sink')).metadata),
      location: `${lab.catalog().warehouse}/s/swapped_2`,
    })
    const failed = await untilState(id, 'failed')
    expect(failed.error?.code).toBe('TABLE_REPLACED')
    const again = await lab.service.post('/api/pipeline/start', {
      source_table: 's.swapped',
      sink_table: 's.swapped_sink',
      checkpoint_location: 'cp/swapped',
      trigger_interval: '1 s',
    })
    expect([again.status, again.body.errors[0].path]).toEqual([409, 'checkpoint_location'])
  })
})

function localPath(location: string): string {
  return location.startsWith('file:') ? fileURLToPath(location) : location
}
