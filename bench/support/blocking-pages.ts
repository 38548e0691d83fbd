import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { House } from '../../test/web/support/house.ts'

/** A page whose blocking time is measured. */
export interface MeasuredPage {
  readonly name: string
  readonly path: string
  /** Is there when the page is complete. */
  readonly text: string | RegExp
}

const FIRST_ID = 1_000_000_000_000

/** Gives a table of the catalog in `folder` a history of `count` snapshots that share the files of its first one. */
export function multiplySnapshots(folder: string, table: string, count: number): void {
  const database = new DatabaseSync(`${folder}/catalog.db`)
  const row = database.prepare('select metadata_location as at from iceberg_tables where table_name = ?').get(table)
  const path = fileURLToPath(String(row?.['at']))
  const metadata = JSON.parse(readFileSync(path, 'utf8'))
  const { 'parent-snapshot-id': _none, ...first } = metadata.snapshots[0]
  const snapshots = Array.from({ length: count }, (_, i) => ({
    ...first,
    'snapshot-id': FIRST_ID + i,
    ...(i === 0 ? {} : { 'parent-snapshot-id': FIRST_ID + i - 1 }),
    'sequence-number': i + 1,
    'timestamp-ms': first['timestamp-ms'] - (count - 1 - i) * 60_000,
    summary: { ...first.summary, 'total-records': String(100 + i) },
  }))
  const current = FIRST_ID + count - 1
  const target = path.replace(/[^/]*$/, '99999-00000000-0000-4000-8000-000000000000.metadata.json')
  const grown = {
    ...metadata,
    snapshots,
    'last-sequence-number': count,
    'current-snapshot-id': current,
    refs: { main: { 'snapshot-id': current, type: 'branch' } },
    'metadata-log': [],
    'snapshot-log': snapshots.map((one) => ({
      'snapshot-id': one['snapshot-id'],
      'timestamp-ms': one['timestamp-ms'],
    })),
  }
  writeFileSync(target, JSON.stringify(grown))
  database
    .prepare('update iceberg_tables set metadata_location = ? where table_name = ?')
    .run(pathToFileURL(target).href, table)
  database.close()
}

/**
 * Makes a definition with `count` nodes in rows of ten and a second version, and one without positions: their designers,
 * and the comparison of the versions.
 */
export async function makeLargeDefinition({ call }: House, count: number): Promise<readonly MeasuredPage[]> {
  const graph = (condition: string) => ({
    nodes: Array.from({ length: count }, (_, at) => ({
      id: `n${at}`,
      type: at === 0 ? 'iceberg-source' : 'filter',
      config: at === 0 ? { table: 'bench.source' } : { condition },
      position: { x: (at % 10) * 240, y: Math.floor(at / 10) * 110 },
    })),
    edges: Array.from({ length: count - 1 }, (_, at) => ({ id: `e${at}`, source: `n${at}`, target: `n${at + 1}` })),
  })
  const made = await call('POST', '/api/pipeline-defs', { name: 'Large', description: '', ...graph('id > 1') })
  const page = `/definitions/${made.definition.id}`
  const second = await call('POST', `/api/pipeline-defs/${made.definition.id}/versions`, graph('id > 2'))
  const flat = graph('id > 1')
  const unplaced = await call('POST', '/api/pipeline-defs', {
    name: 'Without positions',
    description: '',
    edges: flat.edges,
    nodes: flat.nodes.map((node) => ({ ...node, position: { x: 0, y: 0 } })),
  })
  return [
    {
      name: `designer of ${count} nodes without positions`,
      path: `/definitions/${unplaced.definition.id}`,
      text: 'Add a node',
    },
    { name: `designer of ${count} nodes`, path: page, text: 'Add a node' },
    {
      name: `comparison of ${count} nodes`,
      path: `${page}?version=${second.id}&compare=${made.version.id}`,
      text: 'Changes from v1 to v2',
    },
  ]
}
