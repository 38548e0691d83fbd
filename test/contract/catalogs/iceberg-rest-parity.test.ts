import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { type JsonObject, type JsonValue, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import { schemaToJson } from '../../../src/iceberg/schema/schema.ts'
import { type Actor, type Lifecycle, lifecycle } from '../../support/lifecycle.ts'
import { openLab, type StreamLab } from '../../streaming/support.ts'
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
  ['spare', 'int'],
] as const

const rowsOf = (from: number, to: number) =>
  `SELECT i AS c1, 'n' || i AS c2, 1::INTEGER AS c3 FROM range(${from}, ${to}) t(i)`

let made = 0
/** A table with three appends of ten rows each. */
async function makeTable(): Promise<string> {
  const table = `s.m${(made += 1)}`
  await lab.createTable(table, COLUMNS)
  for (let at = 0; at < 3; at += 1) {
    await lab.append(table, rowsOf(at * 10, at * 10 + 10))
  }
  return table
}

/** A pipeline that has copied the table; it goes on running. */
async function copied(table: string): Promise<string> {
  const { status, body } = await life.lead.call('POST', '/api/pipeline/start', {
    source_table: table,
    sink_table: `${table}_sink`,
    create_sink_table: true,
    checkpoint_location: `cp/${table}`,
    trigger_interval: '1 hour',
  })
  expect(status, JSON.stringify(body)).toBe(200)
  await until(async () => (await lab.rows(`${table}_sink`).catch(() => [])).length === 30)
  return String(body.pipeline.id)
}

const stop = (id: string) => life.lead.call('POST', `/api/pipeline/${id}/stop`, {})
const pathOf = (table: string) => `/iceberg/v1/namespaces/s/tables/${table.slice(2)}`

/** Sends a commit again while it loses against one of the pipeline, as clients do. */
async function commitAgain(send: () => Promise<Answer>): Promise<Answer> {
  for (let left = 20; ; left -= 1) {
    const answer = await send()
    if (answer.status !== 409 || left === 0) return answer
  }
}

/** The ways in which a client sends the same updates. */
const WAYS = {
  commit: (by: Actor, table: string, updates: readonly JsonValue[]): Promise<Answer> => {
    const text = stringifyJson({ requirements: [], updates: [...updates] })
    return commitAgain(() => lab.service.call('POST', pathOf(table), { text, token: by.token }))
  },
  transaction: (by: Actor, table: string, updates: readonly JsonValue[]): Promise<Answer> => {
    const identifier = { namespace: ['s'], name: table.slice(2) }
    const text = stringifyJson({ 'table-changes': [{ identifier, requirements: [], updates: [...updates] }] })
    return commitAgain(() => lab.service.call('POST', '/iceberg/v1/transactions/commit', { text, token: by.token }))
  },
} as const

const withFields = (change: (fields: JsonObject[]) => JsonObject[]) => async (table: string) => {
  const schema = schemaToJson(currentSchema((await lab.load(table)).metadata))
  const { fields } = schema
  const list = Array.isArray(fields) ? fields.filter(isJsonObject) : []
  return [
    { action: 'add-schema', schema: { ...schema, fields: change(list) } },
    { action: 'set-current-schema', 'schema-id': -1 },
  ]
}

const edited = (name: string, change: JsonObject) =>
  withFields((fields) => fields.map((field) => (field['name'] === name ? { ...field, ...change } : field)))
const added = (field: JsonObject) => withFields((fields) => [...fields, { id: 90, required: false, ...field }])
const without = (name: string) => withFields((fields) => fields.filter((field) => field['name'] !== name))

/** Ids of the snapshots of a table, oldest first. */
async function idsOf(table: string): Promise<readonly [bigint, bigint, bigint]> {
  const [first = 0n, second = 0n, third = 0n] = (await lab.load(table)).metadata.snapshots.map((one) => one.snapshotId)
  return [first, second, third]
}

const mainAt = (id: bigint) => ({
  action: 'set-snapshot-ref',
  'ref-name': 'main',
  type: 'branch',
  'snapshot-id': id,
})

/** A new snapshot with the files of an existing one. */
async function newSnapshot(table: string, like: bigint, parent: bigint | undefined): Promise<JsonObject> {
  const { metadata } = await lab.load(table)
  return {
    'snapshot-id': like + 1000n,
    ...(parent === undefined ? {} : { 'parent-snapshot-id': parent }),
    'sequence-number': metadata.lastSequenceNumber + 1,
    'timestamp-ms': Date.now(),
    'manifest-list': metadata.snapshots.find((one) => one.snapshotId === like)?.manifestList ?? '',
    summary: { operation: 'overwrite' },
    'schema-id': 0,
  }
}

type Updates = (table: string) => Promise<readonly JsonValue[]>

/** Changes of columns: what the interface answers while a pipeline uses the column, and how clients spell the change. */
const COLUMN_CHANGES: readonly {
  readonly name: string
  readonly api?: { readonly path: string; readonly body: object; readonly status: number }
  readonly rest: Updates
  /** The answer while a pipeline reads the column, and while one writes it. */
  readonly whileRead: number
  readonly whileWritten: number
}[] = [
  {
    name: 'rename',
    api: { path: 'rename-column', body: { name: 'name', new_name: 'title' }, status: 409 },
    rest: edited('name', { name: 'title' }),
    whileRead: 403,
    whileWritten: 403,
  },
  {
    name: 'drop',
    api: { path: 'drop-column', body: { name: 'name' }, status: 409 },
    rest: without('name'),
    whileRead: 403,
    whileWritten: 403,
  },
  {
    name: 'drop and add again under another id',
    rest: edited('name', { id: 91 }),
    whileRead: 403,
    whileWritten: 403,
  },
  { name: 'type that is no promotion', rest: edited('id', { type: 'string' }), whileRead: 403, whileWritten: 403 },
  { name: 'narrower type', rest: edited('id', { type: 'int' }), whileRead: 403, whileWritten: 403 },
  {
    name: 'type that becomes a struct',
    rest: edited('name', {
      type: { type: 'struct', fields: [{ id: 92, name: 'text', type: 'string', required: false }] },
    }),
    whileRead: 403,
    whileWritten: 403,
  },
  { name: 'required', rest: edited('name', { required: true }), whileRead: 403, whileWritten: 403 },
  {
    name: 'new required column',
    rest: added({ name: 'must', type: 'int', required: true }),
    whileRead: 200,
    whileWritten: 403,
  },
  {
    name: 'new optional column',
    api: { path: 'add-column', body: { name: 'api_extra', type: 'int' }, status: 200 },
    rest: added({ name: 'extra', type: 'int' }),
    whileRead: 200,
    whileWritten: 200,
  },
  { name: 'promotion', rest: edited('spare', { type: 'long' }), whileRead: 200, whileWritten: 200 },
]

describe('a change of a column in use', () => {
  describe.each(COLUMN_CHANGES)('$name', ({ api, rest, whileRead, whileWritten }) => {
    it('gets the same refusal over both interfaces', async () => {
      const table = await makeTable()
      const id = await copied(table)
      for (const [used, status] of [
        [table, whileRead],
        [`${table}_sink`, whileWritten],
      ] as const) {
        const before = (await lab.load(used)).metadata.currentSchemaId
        for (const by of [life.engineer, life.lead]) {
          if (status === 200) continue
          for (const way of Object.values(WAYS)) {
            const answer = await way(by, used, await rest(used))
            expect([answer.status, answer.body.error?.message], used).toEqual([403, expect.stringContaining(id)])
          }
        }
        expect((await lab.load(used)).metadata.currentSchemaId).toBe(before)
        if (status === 200) {
          const done = await WAYS.commit(life.engineer, used, await rest(used))
          expect(done.status, JSON.stringify(done.body)).toBe(200)
        }
        if (api === undefined) continue
        const answer = await life.lead.call('POST', `/api/evolve/${api.path}`, { table: used, ...api.body })
        expect(answer.status, JSON.stringify(answer.body)).toBe(api.status)
      }
      await stop(id)
      if (whileRead !== 200) expect((await WAYS.commit(life.engineer, table, await rest(table))).status).toBe(200)
    })
  })

  it('is refused when it sets an earlier schema again', async () => {
    const table = await makeTable()
    expect((await WAYS.commit(life.engineer, table, await added({ name: 'extra', type: 'int' })(table))).status).toBe(
      200,
    )
    const id = await copied(table)
    for (const way of Object.values(WAYS)) {
      const answer = await way(life.lead, table, [{ action: 'set-current-schema', 'schema-id': 0 }])
      expect([answer.status, answer.body.error?.message]).toEqual([403, expect.stringContaining(`extra is used by`)])
    }
    await stop(id)
  })
})

/** Ways to go back to the first snapshot of a table. */
const ROLLBACKS: Readonly<Record<string, Updates>> = {
  'sets main': async (table) => [mainAt((await idsOf(table))[0])],
  'removes main and sets it': async (table) => [
    { action: 'remove-snapshot-ref', 'ref-name': 'main' },
    mainAt((await idsOf(table))[0]),
  ],
  'sets main and removes what comes after': async (table) => {
    const [first, second, third] = await idsOf(table)
    return [mainAt(first), { action: 'remove-snapshots', 'snapshot-ids': [second, third] }]
  },
  'adds a snapshot to an earlier one': async (table) => {
    const [first] = await idsOf(table)
    return [{ action: 'add-snapshot', snapshot: await newSnapshot(table, first, first) }, mainAt(first + 1000n)]
  },
}

describe('a rollback', () => {
  it('needs a lead over the interface', async () => {
    const table = await makeTable()
    const [first] = await idsOf(table)
    const body = { table, snapshot_id: String(first) }
    expect((await life.engineer.call('POST', '/api/rollback', body)).status).toBe(403)
    expect((await life.lead.call('POST', '/api/rollback', body)).status).toBe(200)
  })

  it.each(Object.entries(ROLLBACKS))('needs a lead over REST when a commit %s', async (_, updates) => {
    for (const way of Object.values(WAYS)) {
      const table = await makeTable()
      const refused = await way(life.engineer, table, await updates(table))
      expect([refused.status, refused.body.error?.message]).toEqual([403, expect.stringContaining('LeadDataEngineer')])
      expect(await lab.rows(table)).toHaveLength(30)
      const answer = await way(life.lead, table, await updates(table))
      expect([200, 204], JSON.stringify(answer.body)).toContain(answer.status)
      expect(await lab.rows(table)).toHaveLength(10)
    }
  })

  it.each(Object.entries(ROLLBACKS))(
    'of the source of a pipeline is refused even for a lead when a commit %s',
    async (_, updates) => {
      const table = await makeTable()
      const id = await copied(table)
      await stop(id)
      for (const way of Object.values(WAYS)) {
        const answer = await way(life.lead, table, await updates(table))
        expect([403, 409]).toContain(answer.status) // 409: the pipeline's tag keeps a removed snapshot
        expect(answer.body.error.message).toContain(id)
      }
      expect(await lab.rows(table)).toHaveLength(30)
    },
  )

  it('of a sink is refused when the same commit removes the batches', async () => {
    const table = await makeTable()
    await lab.createTable(`${table}_sink`, COLUMNS)
    await lab.append(`${table}_sink`, rowsOf(900, 901))
    const { body } = await life.lead.call('POST', '/api/pipeline/start', {
      source_table: table,
      sink_table: `${table}_sink`,
      checkpoint_location: `cp/${table}`,
      trigger_interval: '1 hour',
    })
    await until(async () => (await lab.rows(`${table}_sink`)).length === 31)
    await stop(body.pipeline.id)
    const [first, ...batches] = (await lab.load(`${table}_sink`)).metadata.snapshots.map((one) => one.snapshotId)
    for (const way of Object.values(WAYS)) {
      const updates = [mainAt(first ?? 0n), { action: 'remove-snapshots', 'snapshot-ids': batches }]
      const answer = await way(life.lead, `${table}_sink`, updates)
      expect([answer.status, answer.body.error?.message]).toEqual([403, expect.stringContaining(body.pipeline.id)])
    }
    expect(await lab.rows(`${table}_sink`)).toHaveLength(31)
  })

  it('in two commits needs a lead for the second', async () => {
    const table = await makeTable()
    const removal = { action: 'remove-snapshot-ref', 'ref-name': 'main' }
    expect((await WAYS.commit(life.engineer, table, [removal])).status).toBe(200)
    const [first] = await idsOf(table)
    expect((await WAYS.commit(life.engineer, table, [mainAt(first)])).status).toBe(403)
    expect((await WAYS.commit(life.lead, table, [mainAt(first)])).status).toBe(200)
  })

  it('is not what an engineer does who replaces a table, moves a branch or publishes one', async () => {
    const table = await makeTable()
    const [first, , third] = await idsOf(table)
    const branch = { action: 'set-snapshot-ref', 'ref-name': 'old', type: 'branch', 'snapshot-id': first }
    expect((await WAYS.commit(life.engineer, table, [branch])).status).toBe(200)
    const ahead = await newSnapshot(table, third, third)
    const audit = { action: 'set-snapshot-ref', 'ref-name': 'audit', type: 'branch', 'snapshot-id': third + 1000n }
    expect((await WAYS.commit(life.engineer, table, [{ action: 'add-snapshot', snapshot: ahead }, audit])).status).toBe(
      200,
    )
    expect((await WAYS.commit(life.engineer, table, [mainAt(third + 1000n)])).status).toBe(200)
    const fresh = await newSnapshot(table, first, undefined)
    const replaced = [
      { action: 'remove-snapshot-ref', 'ref-name': 'main' },
      { action: 'add-snapshot', snapshot: fresh },
      mainAt(first + 1000n),
    ]
    const answer = await WAYS.commit(life.engineer, table, replaced)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  })
})

describe('snapshots that a pipeline has not read', () => {
  it('are removed over neither interface', async () => {
    const table = await makeTable()
    const id = await copied(table)
    await stop(id)
    for (const at of [30, 40]) await lab.append(table, rowsOf(at, at + 10))
    const unread = (await lab.load(table)).metadata.snapshots.at(-2)?.snapshotId ?? 0n
    for (const by of [life.engineer, life.lead]) {
      const api = await by.call('POST', '/api/expire', { table, snapshot_ids: [String(unread)] })
      expect(api.status, JSON.stringify(api.body)).toBe(409)
      for (const way of Object.values(WAYS)) {
        const answer = await way(by, table, [{ action: 'remove-snapshots', 'snapshot-ids': [unread] }])
        expect([answer.status, answer.body.error?.message]).toEqual([403, expect.stringContaining(id)])
      }
    }
  })
})
