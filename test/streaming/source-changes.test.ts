import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commitTable } from '../../src/catalog/commit-table.ts'
import { LONG } from '../support/effort.ts'
import { parseIdentifier } from '../../src/catalog/table-identifier.ts'
import type { TableMetadata } from '../../src/iceberg/metadata/metadata.ts'
import { addColumn, dropColumn, renameColumn } from '../../src/iceberg/update/apply/schema-update.ts'
import type { TableUpdate } from '../../src/iceberg/update/table-update.ts'
import { runCompaction } from '../../src/maintenance/compaction/compact.ts'
import { runExpiry } from '../../src/maintenance/expiry/expire.ts'
import { runRollback } from '../../src/maintenance/rollback.ts'
import { deleteRow, numbered, openLab, type StreamLab } from './support.ts'
import { until } from '../support/waiting.ts'

describe('a pipeline whose tables are changed by others', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
  const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})
  const sinkRows = (name: string): Promise<string[]> => lab.rows(`s.${name}_sink`).catch(() => [])

  async function makeSource(name: string, snapshots = 1): Promise<void> {
    await lab.createTable(`s.${name}`, [
      ['id', 'long'],
      ['name', 'string'],
    ])
    for (let at = 0; at < snapshots; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
  }

  async function start(name: string, more: object = {}): Promise<string> {
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: `s.${name}`,
      sink_table: `s.${name}_sink`,
      checkpoint_location: `cp/${name}`,
      trigger_interval: '100 ms',
      create_sink_table: true,
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

  const untilRows = (name: string, rows: number) =>
    until(async () => (await sinkRows(name)).length >= rows, `${rows} rows in the sink of ${name}`)

  /** A schema change by a client that does not use the service. */
  async function change(
    table: string,
    stage: (metadata: TableMetadata) => { updates: readonly TableUpdate[] },
  ): Promise<void> {
    await commitTable(lab.catalog(), parseIdentifier(table), async ({ metadata }) => ({
      requirements: [],
      ...stage(metadata),
      writtenFiles: [],
    }))
  }

  it('fills a column dropped from the source with nulls, and maps a new column of the same name', async () => {
    await makeSource('dropped')
    const id = await start('dropped')
    await untilRows('dropped', 10)
    await change('s.dropped', (metadata) => dropColumn(metadata, { name: 'name' }))
    await lab.append('s.dropped', 'SELECT 10::BIGINT AS c1')
    await untilRows('dropped', 11)
    await change('s.dropped', (metadata) => addColumn(metadata, { name: 'name', type: { kind: 'string' } }))
    await lab.append('s.dropped', "SELECT 11::BIGINT AS c1, 'again' AS c3")
    await untilRows('dropped', 12)
    const rows = await sinkRows('dropped')
    expect(rows).toContain('{"id":"10","name":null}')
    expect(rows).toContain('{"id":"11","name":"again"}')
    expect(rows).toContain('{"id":"3","name":"n3"}') // existing values stay unchanged
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('keeps the values of two columns apart when their names are swapped', LONG, async () => {
    await lab.createTable('s.swapped', [
      ['a', 'string'],
      ['b', 'string'],
    ])
    await lab.append('s.swapped', "SELECT 'a1' AS c1, 'b1' AS c2")
    const id = await start('swapped')
    await untilRows('swapped', 1)
    for (const [from, to] of [
      ['a', 'x'],
      ['b', 'a'],
      ['x', 'b'],
    ] as const)
      await change('s.swapped', (metadata) => renameColumn(metadata, { name: from, newName: to }))
    await lab.append('s.swapped', "SELECT 'a2' AS c1, 'b2' AS c2")
    await untilRows('swapped', 2)
    expect(await sinkRows('swapped')).toEqual(['{"a":"a1","b":"b1"}', '{"a":"a2","b":"b2"}'])
    await stop(id)
  })

  it('reads batches with many schemas in one backlog, each row with its own values', async () => {
    await makeSource('backlog')
    const id = await start('backlog')
    await untilRows('backlog', 10)
    await stop(id)
    await change('s.backlog', (metadata) => addColumn(metadata, { name: 'note', type: { kind: 'string' } }))
    await lab.append('s.backlog', "SELECT 10::BIGINT AS c1, 'n10' AS c2, 'first' AS c3")
    await change('s.backlog', (metadata) => renameColumn(metadata, { name: 'note', newName: 'remark' }))
    await lab.append('s.backlog', "SELECT 11::BIGINT AS c1, 'n11' AS c2, 'second' AS c3")
    await start('backlog', { max_files_per_batch: 1 })
    await untilRows('backlog', 12)
    const rows = await sinkRows('backlog')
    expect(rows).toContain('{"id":"10","name":"n10","remark":"first"}')
    expect(rows).toContain('{"id":"11","name":"n11","remark":"second"}')
    await stop(id)
  })

  it('copies the values of rows that were appended before their column was dropped', async () => {
    await makeSource('behind')
    const id = await start('behind')
    await untilRows('behind', 10)
    await stop(id)
    await lab.append('s.behind', "SELECT 10::BIGINT AS c1, 'n10' AS c2")
    await change('s.behind', (metadata) => dropColumn(metadata, { name: 'name' }))
    await lab.append('s.behind', 'SELECT 11::BIGINT AS c1')
    await start('behind')
    await untilRows('behind', 12)
    const rows = await sinkRows('behind')
    expect(rows).toContain('{"id":"10","name":"n10"}')
    expect(rows).toContain('{"id":"11","name":null}')
    await stop(id)
  })

  it('copies old and new values when a dropped column was added again under its name', async () => {
    await makeSource('again')
    const id = await start('again')
    await untilRows('again', 10)
    await stop(id)
    await lab.append('s.again', "SELECT 10::BIGINT AS c1, 'old' AS c2")
    await change('s.again', (metadata) => dropColumn(metadata, { name: 'name' }))
    await change('s.again', (metadata) => addColumn(metadata, { name: 'name', type: { kind: 'string' } }))
    await lab.append('s.again', "SELECT 11::BIGINT AS c1, 'new' AS c3")
    await start('again')
    await untilRows('again', 12)
    const rows = await sinkRows('again')
    expect(rows).toContain('{"id":"10","name":"old"}')
    expect(rows).toContain('{"id":"11","name":"new"}')
    expect((await lab.load('s.again_sink')).metadata.schemas).toHaveLength(1)
    await stop(id)
  })

  it('waits when the schema that has a dropped column was removed before its rows were read', async () => {
    await makeSource('removed')
    const id = await start('removed')
    await untilRows('removed', 10)
    await stop(id)
    await lab.append('s.removed', "SELECT 10::BIGINT AS c1, 'n10' AS c2")
    await change('s.removed', (metadata) => dropColumn(metadata, { name: 'name' }))
    await change('s.removed', () => ({ updates: [{ action: 'remove-schemas', 'schema-ids': [0] }] }))
    await start('removed')
    const { error } = await untilState(id, 'degraded')
    expect(error).toMatchObject({ code: 'INCOMPATIBLE_SCHEMAS', message: expect.stringContaining('was removed') })
    expect(await sinkRows('removed')).toHaveLength(10)
    await stop(id)
  })

  it('waits when expired snapshots may have values of two columns of one name', async () => {
    await makeSource('twice')
    const id = await start('twice')
    await untilRows('twice', 10)
    await stop(id)
    await lab.append('s.twice', "SELECT 10::BIGINT AS c1, 'old' AS c2")
    await change('s.twice', (metadata) => dropColumn(metadata, { name: 'name' }))
    await change('s.twice', (metadata) => addColumn(metadata, { name: 'name', type: { kind: 'string' } }))
    await lab.append('s.twice', "SELECT 11::BIGINT AS c1, 'new' AS c3")
    await lab.append('s.twice', "SELECT 12::BIGINT AS c1, 'newer' AS c3")
    await expireRuthlessly('s.twice', { sparesTags: false })
    await start('twice')
    const { error } = await untilState(id, 'degraded')
    expect(error).toMatchObject({ code: 'INCOMPATIBLE_SCHEMAS', message: expect.stringContaining('column name') })
    expect(await sinkRows('twice')).toHaveLength(10)
    await stop(id)
  })

  it('does not copy a column that was dropped before the pipeline began', async () => {
    await makeSource('before')
    await lab.createTable('s.before_sink', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await change('s.before', (metadata) => dropColumn(metadata, { name: 'name' }))
    const id = await start('before', { create_sink_table: false })
    await untilRows('before', 10)
    expect(await sinkRows('before')).toContain('{"id":"3","name":null}')
    await stop(id)
  })

  it('does not add a column to the sink that source and sink have dropped', async () => {
    await makeSource('both')
    const id = await start('both')
    await untilRows('both', 10)
    await stop(id)
    await lab.append('s.both', "SELECT 10::BIGINT AS c1, 'n10' AS c2")
    for (const table of ['s.both', 's.both_sink']) {
      await change(table, (metadata) => dropColumn(metadata, { name: 'name' }))
    }
    await start('both')
    await untilRows('both', 11)
    expect(await sinkRows('both')).toContain('{"id":"10"}')
    await stop(id)
  })

  it('waits while the sink lacks a required value, and reports the column', async () => {
    await makeSource('required')
    await lab.createTable('s.required_sink', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    const id = await start('required', { create_sink_table: false })
    await untilRows('required', 10)
    await change('s.required', (metadata) => dropColumn(metadata, { name: 'id' }))
    await change('s.required_sink', (metadata) => dropColumn(metadata, { name: 'name' }))
    await lab.append('s.required', "SELECT 'n10' AS c2")
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error).toMatchObject({ code: 'INCOMPATIBLE_SCHEMAS', message: expect.stringContaining('name') })
    expect(await sinkRows('required')).toHaveLength(10)
    await stop(id)
  })

  const compact = (name: string) =>
    runCompaction({
      catalog: lab.catalog(),
      engine: lab.engine,
      identifier: parseIdentifier(name),
      request: { rewrite_all: true },
      operationId: `compact-${name}-${Date.now()}`,
    })

  /** Expires as much as an engine that respects only tags and branch heads and ignores retention. */
  async function expireRuthlessly(name: string, options: { sparesTags: boolean }): Promise<void> {
    await change(name, ({ refs }) => {
      const tags = Object.keys(refs).filter((ref) => ref !== 'main' && !options.sparesTags)
      const main = { type: 'branch', 'snapshot-id': refs['main']?.snapshotId ?? 0n } as const
      return {
        updates: [
          ...tags.map((ref) => ({ action: 'remove-snapshot-ref', 'ref-name': ref }) as const),
          { action: 'set-snapshot-ref', 'ref-name': 'main', ...main },
        ],
      }
    })
    const identifier = parseIdentifier(name)
    await runExpiry({
      catalog: lab.catalog(),
      identifier,
      request: { retain_last: 1 },
      nowMs: Date.now() + 10 * 86_400_000,
    })
  }

  it(
    'ends with HISTORY_LOST and the snapshot when unread history is gone; the sink stays unchanged',
    LONG,
    async () => {
      await makeSource('expired', 2)
      const id = await start('expired')
      await untilRows('expired', 20)
      await stop(id)
      for (let at = 2; at < 5; at += 1) await lab.append('s.expired', numbered(at * 10, at * 10 + 10))
      const read = (await status(id)).last_progress.sources[0].end_offset.snapshot_id
      await compact('s.expired')
      await expireRuthlessly('s.expired', { sparesTags: false })
      await start('expired')
      const failed = await untilState(id, 'failed')
      expect(failed.error.code).toBe('HISTORY_LOST')
      expect(failed.error.message).toContain(`snapshot ${read} of s.expired`)
      expect(failed.error.message).not.toContain(lab.service.folder)
      expect(await sinkRows('expired')).toHaveLength(20)
      expect(await lab.rows('s.expired')).toHaveLength(50)
    },
  )

  it.each([true, false])(
    'reads past expired snapshots when the files show what they added (its own tag is kept: %s)',
    async (sparesTags) => {
      const name = `gap_${sparesTags}`
      await makeSource(name, 2)
      const id = await start(name, { max_files_per_batch: 1 })
      await untilRows(name, 20)
      await stop(id)
      for (let at = 2; at < 6; at += 1) await lab.append(`s.${name}`, numbered(at * 10, at * 10 + 10))
      await expireRuthlessly(`s.${name}`, { sparesTags })
      expect((await lab.load(`s.${name}`)).metadata.snapshots).toHaveLength(sparesTags ? 2 : 1)
      await start(name, { max_files_per_batch: 1 })
      await untilRows(name, 60)
      await lab.append(`s.${name}`, numbered(60, 70))
      await untilRows(name, 70)
      expect(await sinkRows(name)).toEqual(await lab.rows(`s.${name}`))
      expect(await status(id)).toMatchObject({ state: 'running', error: null })
      await lab.service.restart()
      await lab.append(`s.${name}`, numbered(70, 80))
      await untilRows(name, 80)
      expect(await sinkRows(name)).toEqual(await lab.rows(`s.${name}`))
      await stop(id)
    },
  )

  it.each(['rewritten', 'deleted'] as const)(
    'does not read past expired snapshots when rows already read were %s meanwhile',
    async (how) => {
      for (const sparesTags of [true, false]) {
        const name = `${how}_${sparesTags}`
        await makeSource(name, 2)
        const id = await start(name)
        await untilRows(name, 20)
        await stop(id)
        await lab.append(`s.${name}`, numbered(20, 30))
        if (how === 'rewritten') await compact(`s.${name}`)
        else await deleteRow(lab, `s.${name}`, 5)
        await lab.append(`s.${name}`, numbered(30, 40))
        await expireRuthlessly(`s.${name}`, { sparesTags })
        await start(name)
        expect((await untilState(id, 'failed')).error.code, name).toBe('HISTORY_LOST')
        expect(await sinkRows(name)).toHaveLength(20)
      }
    },
  )

  it('ends with HISTORY_LOST when the source is rolled back to before its position', LONG, async () => {
    await makeSource('rolled', 3)
    const first = (await lab.load('s.rolled')).metadata.snapshots[0]?.snapshotId ?? 0n
    const id = await start('rolled')
    await untilRows('rolled', 30)
    await runRollback({
      catalog: lab.catalog(),
      identifier: parseIdentifier('s.rolled'),
      snapshotId: first,
    })
    const failed = await untilState(id, 'failed')
    expect(failed.error).toMatchObject({ code: 'HISTORY_LOST', message: expect.stringContaining('rolled back') })
    expect(await sinkRows('rolled')).toHaveLength(30)
  })

  it('writes into a sink that others write, compact and expire, and no row is lost', LONG, async () => {
    await makeSource('shared')
    const id = await start('shared', { max_files_per_batch: 1 })
    await untilRows('shared', 10)
    const identifier = parseIdentifier('s.shared_sink')
    const others = (async () => {
      for (let at = 0; at < 15; at += 1) {
        await lab.append('s.shared_sink', numbered(1000 + at * 10, 1010 + at * 10))
        if (at % 5 !== 4) continue
        await compact('s.shared_sink').catch(() => undefined)
        await runExpiry({ catalog: lab.catalog(), identifier, request: { retain_last: 1 }, nowMs: Date.now() + 1e9 })
      }
    })()
    for (let at = 1; at < 20; at += 1) await lab.append('s.shared', numbered(at * 10, at * 10 + 10))
    await others
    await untilRows('shared', 350)
    const ids = (await sinkRows('shared')).map((row) => Number(JSON.parse(row).id)).sort((a, b) => a - b)
    const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at)
    expect(ids).toEqual([...range(0, 200), ...range(1000, 1150)])
    expect(await status(id)).toMatchObject({ state: 'running', error: null })
    await stop(id)
  })

  it('waits while its sink is missing, and fails when another table has its name', async () => {
    await makeSource('lostsink')
    const id = await start('lostsink')
    await untilRows('lostsink', 10)
    await lab.catalog().dropTable(parseIdentifier('s.lostsink_sink'))
    await lab.append('s.lostsink', numbered(10, 20))
    const degraded = await untilState(id, 'degraded')
    expect(degraded.error).toMatchObject({ code: 'NO_SUCH_TABLE', message: expect.stringContaining('lostsink_sink') })
    await lab.catalog().createTable(parseIdentifier('s.lostsink_sink'), {
      schema: (await lab.load('s.lostsink')).metadata.schemas[0] ?? { schemaId: 0, identifierFieldIds: [], fields: [] },
      location: `${lab.catalog().warehouse}/s/lostsink_other`,
    })
    const failed = await untilState(id, 'failed')
    expect(failed.error.code).toBe('TABLE_REPLACED')
    expect(await sinkRows('lostsink')).toEqual([])
  })
})
