import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { type JsonObject, type JsonValue, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import type { Answer } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

let lab: StreamLab
beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let made = 0
/** A source with three appends of ten rows each; the ids of its snapshots. */
async function makeSource() {
  const source = `s.t${(made += 1)}`
  await lab.createTable(source, COLUMNS)
  for (let at = 0; at < 3; at += 1) await lab.append(source, numbered(at * 10, at * 10 + 10))
  const { snapshots } = (await lab.load(source)).metadata
  const [first = 0n, second = 0n, third = 0n] = snapshots.map(({ snapshotId }) => snapshotId)
  return { source, sink: `${source}_sink`, first, second, third }
}

/** Starts a pipeline that reads one file per batch and waits until its sink has the rows. */
async function start(source: string, { trigger, rows }: { readonly trigger: string; readonly rows: number }) {
  const { status, body } = await lab.service.post('/api/pipeline/start', {
    source_table: source,
    sink_table: `${source}_sink`,
    create_sink_table: true,
    checkpoint_location: `cp/${source}`,
    trigger_interval: trigger,
    max_files_per_batch: 1,
  })
  expect(status, JSON.stringify(body)).toBe(200)
  await until(async () => (await lab.rows(`${source}_sink`).catch(() => [])).length >= rows)
  return String(body.pipeline.id)
}

const pathOf = (table: string) => `/iceberg/v1/namespaces/s/tables/${table.slice(2)}`
const commit = (table: string, ...updates: JsonValue[]): Promise<Answer> =>
  lab.service.call('POST', pathOf(table), { text: stringifyJson({ requirements: [], updates }) })
const remove = (table: string, ...ids: bigint[]) => commit(table, { action: 'remove-snapshots', 'snapshot-ids': ids })
const setMain = (table: string, id: bigint) =>
  commit(table, { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id })
const stop = (id: string) => lab.service.post(`/api/pipeline/${id}/stop`, {})

/** A pipeline that was stopped before the last two appends of ten rows each. */
async function stoppedBefore(source: string): Promise<string> {
  const id = await start(source, { trigger: '1 hour', rows: 30 })
  await stop(id)
  for (const at of [30, 40]) await lab.append(source, numbered(at, at + 10))
  return id
}

/** The snapshot before the current one. */
async function previous(table: string): Promise<bigint> {
  return (await lab.load(table)).metadata.snapshots.at(-2)?.snapshotId ?? 0n
}

/** What a refused commit must not change; pipelines write properties of their own. */
async function stateOf(table: string): Promise<string> {
  const { snapshots, currentSnapshotId, currentSchemaId } = (await lab.load(table)).metadata
  return [...snapshots.map(({ snapshotId }) => snapshotId), currentSnapshotId, currentSchemaId].join(' ')
}

/** A commit that changes the fields of the schema. */
async function changeFields(table: string, change: (fields: JsonObject[]) => JsonObject[]): Promise<Answer> {
  const schema = schemaToJson(currentSchema((await lab.load(table)).metadata))
  const { fields } = schema
  const list = Array.isArray(fields) ? fields.filter(isJsonObject) : []
  return commit(
    table,
    { action: 'add-schema', schema: { ...schema, fields: change(list) } },
    { action: 'set-current-schema', 'schema-id': -1 },
  )
}

async function expectRefused(table: string, attempt: () => Promise<Answer>, ...words: string[]): Promise<void> {
  const before = await stateOf(table)
  const answer = await attempt()
  expect([answer.status, answer.body.error?.type], JSON.stringify(answer.body)).toEqual([403, 'ForbiddenException'])
  for (const word of words) expect(answer.body.error.message).toContain(word)
  expect(await stateOf(table)).toBe(before)
}

describe('a commit of another system', () => {
  it('removes no snapshot that a stopped pipeline has not read; others are removed', async () => {
    const { source, first, second } = await makeSource()
    const id = await stoppedBefore(source)
    const unread = await previous(source)
    await expectRefused(source, () => remove(source, unread), String(unread), id, 'have not read yet')
    await expectRefused(source, () => remove(source, first, unread), id)
    expect((await remove(source, first)).status).toBe(200)
    await lab.service.call('DELETE', `/api/pipeline/${id}`)
    expect((await remove(source, second, unread)).status).toBe(200)
    expect(await lab.rows(source)).toHaveLength(50)
  })

  it('does not undo snapshots that a pipeline has read', async () => {
    const { source, first, third } = await makeSource()
    const id = await start(source, { trigger: '100 ms', rows: 30 })
    await expectRefused(source, () => setMain(source, first), id, 'HISTORY_LOST')
    const replaced = () => commit(source, { action: 'remove-snapshot-ref', 'ref-name': 'main' })
    await expectRefused(source, replaced, id)
    expect((await setMain(source, third)).status).toBe(200)
    await stop(id)
    await expectRefused(source, () => setMain(source, first), id)
  })

  it('does not undo batches that a pipeline has written', async () => {
    const { source, sink } = await makeSource()
    const id = await start(source, { trigger: '100 ms', rows: 30 })
    await stop(id)
    const [oldest] = (await lab.load(sink)).metadata.snapshots
    await expectRefused(sink, () => setMain(sink, oldest?.snapshotId ?? 0n), id, 'sink')
  })

  it('neither drops nor renames a column that a running pipeline uses; it adds one', async () => {
    const { source } = await makeSource()
    const id = await start(source, { trigger: '1 hour', rows: 30 })
    const dropped = () => changeFields(source, (fields) => fields.slice(0, 1))
    await expectRefused(source, dropped, `column name is used by pipeline ${id}`)
    const renamed = () => changeFields(source, ([first = {}, second = {}]) => [first, { ...second, name: 'title' }])
    await expectRefused(source, renamed, `column name is used by pipeline ${id}`)
    const added = await changeFields(source, (fields) => [
      ...fields,
      { id: 3, name: 'extra', type: 'string', required: false },
    ])
    expect(added.status, JSON.stringify(added.body)).toBe(200)
    await stop(id)
    expect((await changeFields(source, (fields) => fields.slice(1))).status).toBe(200)
  })

  it('may do the same together with other tables only', async () => {
    const { source } = await makeSource()
    const other = await makeSource()
    const id = await stoppedBefore(source)
    const change = (table: string, updates: JsonValue[]) => ({
      identifier: { namespace: ['s'], name: table.slice(2) },
      requirements: [],
      updates,
    })
    const before = await stateOf(other.source)
    const unread = await previous(source)
    const text = stringifyJson({
      'table-changes': [
        change(other.source, [{ action: 'set-properties', updates: { a: '1' } }]),
        change(source, [{ action: 'remove-snapshots', 'snapshot-ids': [unread] }]),
      ],
    })
    const together = () => lab.service.call('POST', '/iceberg/v1/transactions/commit', { text })
    await expectRefused(source, together, id)
    expect(await stateOf(other.source)).toBe(before)
    expect((await lab.load(other.source)).metadata.properties['a']).toBeUndefined()
  })
})

describe('a table that a pipeline reads or writes', () => {
  it('is neither dropped nor renamed while the pipeline runs', async () => {
    const { source, sink } = await makeSource()
    const id = await start(source, { trigger: '1 hour', rows: 30 })
    for (const table of [source, sink]) {
      const rename = {
        source: { namespace: ['s'], name: table.slice(2) },
        destination: { namespace: ['s'], name: `${table.slice(2)}_new` },
      }
      await expectRefused(table, () => lab.service.call('DELETE', pathOf(table)), id)
      await expectRefused(table, () => lab.service.post('/iceberg/v1/tables/rename', rename), id)
    }
    await stop(id)
    expect((await lab.service.call('DELETE', pathOf(source))).status).toBe(204)
  })
})
