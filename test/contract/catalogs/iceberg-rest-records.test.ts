import { copyFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringifyJson, type JsonObject, type JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import { fileURLToPath } from 'node:url'
import { schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { batchOf } from '../../../src/streaming/sink/progress.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import type { Answer } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
})
afterAll(() => lab.close())

const COLUMNS = [
  ['id', 'long'],
  ['name', 'string'],
] as const

let made = 0
/** A stopped pipeline of a lead that has copied three appends of ten rows in three batches. */
async function stoppedPipeline() {
  const source = `s.r${(made += 1)}`
  const sink = `${source}_sink`
  await lab.createTable(source, COLUMNS)
  for (let at = 0; at < 3; at += 1) await lab.append(source, numbered(at * 10, at * 10 + 10))
  const { status, body } = await life.lead.call('POST', '/api/pipeline/start', {
    source_table: source,
    sink_table: sink,
    create_sink_table: true,
    checkpoint_location: `cp/${source}`,
    trigger_interval: '1 hour',
    max_files_per_batch: 1,
  })
  expect(status, JSON.stringify(body)).toBe(200)
  const id = String(body.pipeline.id)
  await until(async () => (await lab.rows(sink).catch(() => [])).length === 30)
  await life.lead.call('POST', `/api/pipeline/${id}/stop`, {})
  return { source, sink, id }
}

const pathOf = (table: string) => `/iceberg/v1/namespaces/s/tables/${table.slice(2)}`
type By = Lifecycle['lead']
const send = ({ token }: By, path: string, body: JsonValue): Promise<Answer> =>
  lab.service.call('POST', path, { text: stringifyJson(body), token })
const commit = (by: By, table: string, ...updates: JsonValue[]): Promise<Answer> =>
  send(by, pathOf(table), { requirements: [], updates })

async function propertyOf(table: string, prefix: string): Promise<readonly [name: string, value: string]> {
  const { properties } = (await lab.load(table)).metadata
  const [name = ''] = Object.keys(properties).filter((key) => key.startsWith(prefix))
  return [name, properties[name] ?? '']
}

const aheadOf = (text: string) => text.replace(/"batch_id":2/, '"batch_id":3')

/** The metadata file of a table. */
const locationOf = async (table: string) => (await lab.load(table)).metadataLocation

async function expectRefused(answer: Answer, ...words: string[]): Promise<void> {
  expect([answer.status, answer.body.error?.type], JSON.stringify(answer.body)).toEqual([403, 'ForbiddenException'])
  for (const word of words) expect(answer.body.error.message).toContain(word)
}

/** A snapshot like the current one of a table, with a summary of its own. */
async function snapshotLike(table: string, summary: JsonObject): Promise<JsonObject> {
  const { metadata } = await lab.load(table)
  const current = metadata.snapshots.at(-1)
  return {
    'snapshot-id': 77n + (current?.snapshotId ?? 0n),
    'parent-snapshot-id': current?.snapshotId ?? null,
    'sequence-number': metadata.lastSequenceNumber + 1,
    'timestamp-ms': Date.now(),
    'manifest-list': current?.manifestList ?? '',
    summary: { operation: 'append', ...summary },
    'schema-id': 0,
  }
}

async function append(by: By, table: string, summary: JsonObject): Promise<Answer> {
  const snapshot = await snapshotLike(table, summary)
  return commit(
    by,
    table,
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': snapshot['snapshot-id'] ?? null },
  )
}

describe('a client of the catalog', () => {
  it('cannot change the progress of a pipeline in its sink, whatever its role and its way', async () => {
    const { source, sink, id } = await stoppedPipeline()
    const [name, value] = await propertyOf(sink, 'lockhouse.pipeline.')
    expect(name).not.toBe('')
    const set = { action: 'set-properties', updates: { [name]: aheadOf(value) } }
    for (const by of [life.engineer, life.lead]) {
      await expectRefused(await commit(by, sink, set), name)
      await expectRefused(await commit(by, sink, { action: 'remove-properties', removals: [name] }), name)
      const change = { identifier: { namespace: ['s'], name: sink.slice(2) }, requirements: [], updates: [set] }
      await expectRefused(await send(by, '/iceberg/v1/transactions/commit', { 'table-changes': [change] }), name)
      const other = { action: 'set-properties', updates: { 'lockhouse.pipeline.other': value } }
      await expectRefused(await commit(by, source, other), 'lockhouse.pipeline.other')
      const unknown = { action: 'set-properties', updates: { 'lockhouse.something-new': '1' } }
      await expectRefused(await commit(by, source, unknown), 'lockhouse.something-new')
    }
    const same = await commit(life.engineer, sink, {
      action: 'set-properties',
      updates: { [name]: value, owner: 'ed' },
    })
    expect(same.status, JSON.stringify(same.body)).toBe(200)
    await lab.append(source, numbered(30, 50))
    await life.lead.call('POST', '/api/pipeline/start', {
      source_table: source,
      sink_table: sink,
      checkpoint_location: `cp/${source}`,
      trigger_interval: '1 hour',
    })
    await until(async () => (await lab.rows(sink)).length === 50)
    await life.lead.call('POST', `/api/pipeline/${id}/stop`, {})
  })

  it('sets and removes the settings that users make in properties', async () => {
    const { source } = await stoppedPipeline()
    const updates = { 'lockhouse.freshness': '15 minutes', 'lockhouse.maintenance': 'off' }
    expect((await commit(life.engineer, source, { action: 'set-properties', updates })).status).toBe(200)
    expect((await lab.load(source)).metadata.properties).toMatchObject(updates)
    const removal = { action: 'remove-properties', removals: Object.keys(updates) }
    expect((await commit(life.engineer, source, removal)).status).toBe(200)
  })

  it('cannot set, move or drop the tag that keeps unread snapshots', async () => {
    const { source, id } = await stoppedPipeline()
    await lab.append(source, numbered(30, 40))
    const tag = `lockhouse-pipeline-${id}`
    await until(async () => (await lab.load(source)).metadata.refs[tag] !== undefined)
    const { snapshots } = (await lab.load(source)).metadata
    const oldest = snapshots[0]?.snapshotId ?? 0n
    const ref = { action: 'set-snapshot-ref', type: 'tag', 'snapshot-id': oldest }
    await expectRefused(await commit(life.lead, source, { ...ref, 'ref-name': tag }), tag)
    await expectRefused(await commit(life.lead, source, { ...ref, 'ref-name': `${tag}2` }), `${tag}2`)
    await expectRefused(await commit(life.lead, source, { action: 'remove-snapshot-ref', 'ref-name': tag }), tag)
    const pins = { action: 'remove-properties', removals: ['lockhouse.pins'] }
    await expectRefused(await commit(life.lead, source, pins), 'lockhouse.pins')
    expect((await commit(life.engineer, source, { ...ref, 'ref-name': 'release-1' })).status).toBe(200)
  })

  it('cannot create a table with the progress of a pipeline, staged or not', async () => {
    const { sink } = await stoppedPipeline()
    const [name, value] = await propertyOf(sink, 'lockhouse.pipeline.')
    const schema = schemaToJson(currentSchema((await lab.load(sink)).metadata))
    for (const staged of [true, false]) {
      const body = { name: `made${made}`, schema, properties: { [name]: value }, 'stage-create': staged }
      await expectRefused(await send(life.engineer, '/iceberg/v1/namespaces/s/tables', body), name)
    }
    const updates = [
      { action: 'assign-uuid', uuid: crypto.randomUUID() },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'add-schema', schema },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
      { action: 'set-location', location: `${lab.catalog().warehouse}/s/made${made}` },
      { action: 'set-properties', updates: { [name]: value } },
    ]
    const body = { requirements: [{ type: 'assert-create' }], updates }
    await expectRefused(await send(life.engineer, pathOf(`s.made${made}`), body), name)
  })

  it('registers metadata with records of pipelines only as a lead, over both interfaces', async () => {
    const { sink } = await stoppedPipeline()
    const older = await locationOf(sink)
    await lab.append(sink, numbered(900, 901))
    expect((await life.engineer.call('DELETE', pathOf(sink))).status).toBe(204)
    const body = { name: sink.slice(2), 'metadata-location': older }
    await expectRefused(await send(life.engineer, '/iceberg/v1/namespaces/s/register', body), 'LeadDataEngineer')
    const api = { table: sink, metadata_location: older }
    expect((await life.engineer.call('POST', '/api/tables/register', api)).status).toBe(403)
    expect((await life.lead.call('POST', '/api/tables/register', api)).status).toBe(201)
  })

  it('registers an older file under the name of a table that a pipeline uses only as a lead', async () => {
    const { source } = await stoppedPipeline()
    await lab.createTable('s.plain', COLUMNS)
    const file = fileURLToPath(new URL(await locationOf('s.plain'), 'file:///'))
    const copy = file.replace(/00000-/, '00001-')
    copyFileSync(file, copy)
    expect((await life.engineer.call('DELETE', pathOf('s.plain'))).status).toBe(204)
    expect((await life.engineer.call('DELETE', pathOf(source))).status).toBe(204)
    const api = { table: source, metadata_location: copy }
    expect((await life.engineer.call('POST', '/api/tables/register', api)).status).toBe(403)
    const free = { table: 's.plain_again', metadata_location: copy }
    expect((await life.engineer.call('POST', '/api/tables/register', free)).status).toBe(201)
  })
})

describe('a batch that another system commits', () => {
  it('is refused when its query is that of a pipeline that is not at this batch', async () => {
    const { sink } = await stoppedPipeline()
    const stamped = (await lab.load(sink)).metadata.snapshots.map(batchOf)
    const { queryId = '' } = stamped.at(-1) ?? {}
    const stamp = (batchId: number) => ({
      'spark.sql.streaming.queryId': queryId,
      'spark.sql.streaming.epochId': String(batchId),
    })
    await expectRefused(await append(life.engineer, sink, stamp(3)), 'who started it')
    for (const batchId of [2, 3, 9])
      await expectRefused(await append(life.lead, sink, stamp(batchId)), 'no batch is logged')
    await expectRefused(await append(life.lead, sink, { 'lockhouse.batch-id': '3' }), 'lockhouse.batch-id')
    const other = { ...stamp(3), 'spark.sql.streaming.queryId': crypto.randomUUID() }
    const streamed = await append(life.engineer, sink, other)
    expect(streamed.status, JSON.stringify(streamed.body)).toBe(200)
  })
})

describe('a table that production lists in its writes', () => {
  it('gets rows, a new name and an end from other systems only by leads', async () => {
    for (const name of ['p.listed', 'p.free']) {
      await lab.catalog().createNamespace(['p'])
      await lab.createTable(name, COLUMNS)
      await lab.append(name, numbered(0, 10))
    }
    const rules = { writes: ['*', 'p.LISTED*'] }
    expect((await life.lead.call('PUT', '/api/environments/production', rules)).status).toBe(200)
    const at = (name: string) => `/iceberg/v1/namespaces/p/tables/${name}`
    const appended = async (by: By, name: string) => {
      const snapshot = await snapshotLike(`p.${name}`, {})
      const id = snapshot['snapshot-id'] ?? null
      const updates = [
        { action: 'add-snapshot', snapshot },
        { action: 'set-snapshot-ref', 'ref-name': 'main', type: 'branch', 'snapshot-id': id },
      ]
      return send(by, at(name), { requirements: [], updates })
    }
    await expectRefused(await appended(life.engineer, 'listed'), 'writes of production', 'LeadDataEngineer')
    await expectRefused(await life.engineer.call('DELETE', at('listed')), 'writes of production')
    const rename = {
      source: { namespace: ['p'], name: 'free' },
      destination: { namespace: ['p'], name: 'listed2' },
    }
    await expectRefused(await send(life.engineer, '/iceberg/v1/tables/rename', rename), 'writes of production')
    const schema = schemaToJson(currentSchema((await lab.load('p.free')).metadata))
    const created = { name: 'listed3', schema }
    await expectRefused(await send(life.engineer, '/iceberg/v1/namespaces/p/tables', created), 'writes of production')
    const properties = { requirements: [], updates: [{ action: 'set-properties', updates: { a: '1' } }] }
    expect((await send(life.engineer, at('listed'), properties)).status).toBe(200)
    expect((await appended(life.engineer, 'free')).status).toBe(200)
    expect((await appended(life.lead, 'listed')).status).toBe(200)
  })
})
