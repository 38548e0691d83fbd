// Loads and commits through our Iceberg REST catalog, and through Apache Iceberg's own server (RESTCatalogServlet over its
// JDBC catalog): the same tables, each in a SQLite file of its own, over HTTP and in turn. Ours checks a token, Apache's has
// no users. Needs eval "$(scripts/setup/interop.sh)".
import { mkdirSync, writeFileSync } from 'node:fs'
import { type Load, requestsPerSecond } from './support/http-load.ts'
import { processCpuSeconds } from './support/process-cpu.ts'
import { median, note, printTable } from './support/report.ts'
import { withWorkFolder } from './support/work-folder.ts'
import { type JsonObject, type JsonValue, stringifyJson } from '../src/iceberg/json/lossless-json.ts'
import { RestServer } from '../test/interop/harness/rest-server.ts'
import { Service } from '../test/interop/harness/service.ts'

const ROUNDS = Number(process.env['BENCH_RUNS'] ?? 7)
const ROUND_MS = Number(process.env['BENCH_MS'] ?? 2000)
const CONNECTIONS = 8
const COLUMNS = 20

/** How many snapshots the tables have. */
const SIZES = { small: 10, large: 1000 } as const
type Size = keyof typeof SIZES

interface Server {
  readonly port: number
  readonly pid: number
  /** Before `/namespaces`. */
  readonly root: string
  readonly headers: Readonly<Record<string, string>>
}

interface Measured {
  /** Per second. */
  readonly rate: number
  /** Of the server, per request. */
  readonly cpuMicros: number
}

interface Task {
  readonly title: string
  loadOf(server: Server): Promise<Pick<Load, 'path' | 'headers' | 'status' | 'bodyOf' | 'connections'>>
}

async function compare(task: Task, ours: Server, theirs: Server): Promise<readonly string[]> {
  const pairs: (readonly [Measured, Measured])[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const pair = [await measure(task, ours), await measure(task, theirs)] as const
    note(`${task.title}: ours ${pair[0].rate.toFixed(0)}/s, Apache's ${pair[1].rate.toFixed(0)}/s`)
    if (round > 0) pairs.push(pair) // the first one warms up
  }
  const ratios = pairs.map(([a, b]) => a.rate / b.rate)
  const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`
  return [
    task.title,
    median(pairs.map(([a]) => a.rate)).toFixed(0),
    median(pairs.map(([, b]) => b.rate)).toFixed(0),
    `${median(ratios).toFixed(2)}× (${range})`,
    `${median(pairs.map(([a]) => a.cpuMicros)).toFixed(0)} µs`,
    `${median(pairs.map(([, b]) => b.cpuMicros)).toFixed(0)} µs`,
  ]
}

async function measure(task: Task, server: Server): Promise<Measured> {
  const load = await task.loadOf(server)
  const before = processCpuSeconds(server.pid)
  const rate = await requestsPerSecond({ ...load, port: server.port, ms: ROUND_MS })
  const cpuSeconds = processCpuSeconds(server.pid) - before
  return { rate, cpuMicros: (cpuSeconds * 1e6) / (rate * (ROUND_MS / 1000)) }
}

function loading(size: Size): Task {
  return {
    title: `load a table with ${SIZES[size]} snapshots`,
    loadOf: async ({ root, headers }) => ({ path: tablePath(root, size), headers, connections: CONNECTIONS }),
  }
}

function loadingKnown(size: Size): Task {
  return {
    title: `the same when the client has its state (304)`,
    async loadOf({ port, root, headers }) {
      const path = tablePath(root, size).replace('*', '0') // the others have other tags
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      await response.arrayBuffer()
      const known = { ...headers, 'If-None-Match': response.headers.get('etag') ?? '' }
      return { path, headers: known, status: 304, connections: CONNECTIONS }
    },
  }
}

let commits = 0

/** Each connection has a table of its own, so that none waits for another or is refused. */
function committing(size: Size, connections: number): Task {
  const who = connections === 1 ? 'one client' : `${connections} clients, a table each`
  return {
    title: `commit to a table with ${SIZES[size]} snapshots, ${who}`,
    loadOf: async ({ root, headers }) => ({
      path: tablePath(root, size),
      headers,
      connections,
      bodyOf: (connection) => {
        commits += 1
        const updates = [{ action: 'set-properties', updates: { last: String(commits) } }]
        return JSON.stringify({
          requirements: [{ type: 'assert-table-uuid', uuid: uuidOf(size, connection) }],
          updates,
        })
      },
    }),
  }
}

const TASKS: readonly Task[] = [
  loading('small'),
  loadingKnown('small'),
  loading('large'),
  loadingKnown('large'),
  committing('small', 1),
  committing('small', CONNECTIONS),
  committing('large', 1),
  committing('large', CONNECTIONS),
]

function tablePath(root: string, size: Size): string {
  return `${root}/namespaces/db/tables/${size}_*`
}

function uuidOf(size: Size, at: number): string {
  return `6f9c4a3e-7d50-4d0f-9a5d-0d6a3c1b2${size === 'small' ? 'a' : 'b'}0${at}`
}

async function fill(server: Server, warehouse: string): Promise<void> {
  await post(server, 'namespaces', { namespace: ['db'], properties: {} })
  for (const size of ['small', 'large'] as const) {
    for (let at = 0; at < CONNECTIONS; at += 1) {
      const name = `${size}_${at}`
      const folder = `${warehouse}/db/${name}`
      mkdirSync(`${folder}/metadata`, { recursive: true })
      const file = `${folder}/metadata/00000-${uuidOf(size, at)}.metadata.json`
      writeFileSync(file, stringifyJson(metadataOf(folder, size, uuidOf(size, at))))
      await post(server, 'namespaces/db/register', { name, 'metadata-location': file })
    }
  }
}

async function post({ port, root, headers }: Server, path: string, body: unknown): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${root}/${path}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
}

/** Ids of 64 bits, as clients choose them. */
function snapshotId(at: number): JsonValue {
  return 6_000_000_000_000_000_000n + BigInt(at) * 1_234_567_891_011n
}

function metadataOf(location: string, size: Size, uuid: string): JsonObject {
  const snapshots = Array.from({ length: SIZES[size] }, (_, at) => ({
    'snapshot-id': snapshotId(at),
    ...(at === 0 ? {} : { 'parent-snapshot-id': snapshotId(at - 1) }),
    'sequence-number': at + 1,
    'timestamp-ms': 1_750_000_000_000 + at * 1000,
    'manifest-list': `${location}/metadata/snap-${at}.avro`,
    summary: {
      operation: 'append',
      'added-data-files': '1',
      'added-records': '1000',
      'total-data-files': String(at + 1),
      'total-records': String((at + 1) * 1000),
    },
    'schema-id': 0,
  }))
  const current = snapshotId(SIZES[size] - 1)
  return {
    'format-version': 2,
    'table-uuid': uuid,
    location,
    'last-sequence-number': SIZES[size],
    'last-updated-ms': 1_750_000_000_000 + (SIZES[size] - 1) * 1000,
    'last-column-id': COLUMNS,
    'current-schema-id': 0,
    schemas: [
      {
        type: 'struct',
        'schema-id': 0,
        fields: Array.from({ length: COLUMNS }, (_, at) => ({
          id: at + 1,
          name: `column_${at}`,
          required: false,
          type: at % 2 === 0 ? 'long' : 'string',
        })),
      },
    ],
    'default-spec-id': 0,
    'partition-specs': [{ 'spec-id': 0, fields: [] }],
    'last-partition-id': 999,
    'default-sort-order-id': 0,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    properties: {},
    'current-snapshot-id': current,
    refs: { main: { 'snapshot-id': current, type: 'branch' } },
    snapshots,
    'snapshot-log': snapshots.map((snapshot) => ({
      'snapshot-id': snapshot['snapshot-id'],
      'timestamp-ms': snapshot['timestamp-ms'],
    })),
    'metadata-log': [],
  }
}

await withWorkFolder('iceberg-rest', async (folder) => {
  const service = await Service.start({ home: `${folder}/home`, env: { LOCKHOUSE_DEMO: '0' } })
  mkdirSync(`${folder}/ours/warehouse`, { recursive: true })
  const configured = await service.put('/api/config', {
    catalog_type: 'sql',
    catalog_name: 'bench',
    warehouse: `${folder}/ours/warehouse`,
    uri: `sqlite:///${folder}/ours/catalog.db`,
    create: true,
  })
  if (configured.status !== 200) throw new Error(JSON.stringify(configured.body))
  const apache = await RestServer.start()
  const root = new URL(`${apache.uri(`${folder}/apache`)}/v1`)
  const token = { Authorization: `Bearer ${service.token}` }
  const ours: Server = { port: service.port, pid: service.pid, root: '/iceberg/v1', headers: token }
  const theirs: Server = { port: Number(root.port), pid: apache.pid, root: root.pathname, headers: {} }
  try {
    await fill(ours, `${folder}/ours/warehouse`)
    await fill(theirs, `${folder}/apache/warehouse`)
    const rows: (readonly string[])[] = []
    for (const task of TASKS) rows.push(await compare(task, ours, theirs))
    printTable(
      `${ROUNDS} rounds of ${ROUND_MS / 1000} s in turn, one process each; medians, ratios of neighbours with their range`,
      ['', 'ours per second', "Apache's", 'ours against it', 'processor time: ours', "Apache's"],
      rows,
    )
  } finally {
    await apache.stop()
    await service.stop()
  }
})
