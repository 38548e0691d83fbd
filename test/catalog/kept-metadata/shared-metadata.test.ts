import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'

import { loadTableAt } from '../../../src/catalog/metadata-file.ts'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { createTableMetadata } from '../../../src/iceberg/metadata/builder.ts'
import { serializeTableMetadata, tableMetadataFromJson } from '../../../src/iceberg/metadata/metadata.ts'
import { parseSchema } from '../../../src/iceberg/schema/schema.ts'
import { FILE_CLOCK_MS, sleep } from '../../support/waiting.ts'
import { temporaryFolders } from '../support.ts'

const newFolder = temporaryFolders()
const NAME = { namespace: ['db'], name: 't' }
const SCHEMA = parseSchema({
  type: 'struct',
  'schema-id': 0,
  fields: [{ id: 1, name: 'a', required: false, type: 'long' }],
})

/** Counts requests, and runs something while a file is being read. */
class CountingIO extends LocalFileIO {
  reads = 0
  stats = 0
  duringRead: (() => void) | undefined

  override async read(location: string): Promise<Uint8Array> {
    this.reads += 1
    const bytes = await super.read(location)
    this.duringRead?.()
    return bytes
  }

  override async stat(location: string) {
    this.stats += 1
    return super.stat(location)
  }
}

let [io, location, other] = [new CountingIO(), '', '']
beforeEach(() => {
  io = new CountingIO()
  const folder = newFolder()
  location = join(folder, 'v1.metadata.json')
  other = join(folder, 'v2.metadata.json')
})

const load = (from = location) => loadTableAt(io, NAME, from)

/** Metadata of many snapshots; `mark` has the same length always. */
function write(snapshots: number, mark: string, to = location): void {
  const empty = createTableMetadata({
    schema: SCHEMA,
    location: '/t',
    formatVersion: 2,
    uuid: crypto.randomUUID(),
    nowMs: 0,
  })
  const ids = Array.from({ length: snapshots }, (_, at) => 4_611_686_018_427_387_904n + BigInt(at))
  const history = ids.map((id, at) => ({
    'snapshot-id': id,
    'sequence-number': at + 1,
    'timestamp-ms': at,
    'manifest-list': `/t/metadata/${'x'.repeat(500)}-${at}.avro`,
    summary: { operation: 'append', mark },
  }))
  const json = {
    ...empty.json,
    'last-sequence-number': snapshots,
    snapshots: history,
    'current-snapshot-id': ids.at(-1) ?? -1,
  }
  writeFileSync(to, serializeTableMetadata(tableMetadataFromJson(json)))
}

/** The first load of a table finds that its metadata is large. */
async function writeKnown(snapshots: number, mark: string): Promise<void> {
  write(snapshots, mark)
  await load()
  io.reads = 0
}

const markOf = ({ metadata }: Awaited<ReturnType<typeof load>>) => metadata.snapshots[0]?.summary['mark']

describe('a large metadata file', () => {
  it('is read once for all that load the table at the same time, and while the table is in use', async () => {
    await writeKnown(3000, 'a')
    const tables = await Promise.all(Array.from({ length: 20 }, () => load()))
    expect(new Set(tables.map(({ metadata }) => metadata)).size).toBe(1)
    expect(new Set(tables).size).toBe(20)
    expect(io.reads).toBe(1)
    expect((await load()).metadata).toBe(tables[0]?.metadata)
    expect(io.reads).toBe(1)
  })

  it('is read again when another file of the same size has taken its place', async () => {
    await writeKnown(3000, 'a')
    const before = await load()
    await sleep(FILE_CLOCK_MS)
    write(3000, 'b')
    const after = await load()
    expect([before, after].map(markOf)).toEqual(['a', 'b'])
    expect(io.reads).toBe(2)
  })

  it('is not shared when it was replaced while it was read', async () => {
    await writeKnown(3000, 'a')
    await sleep(FILE_CLOCK_MS)
    io.duringRead = () => {
      io.duringRead = undefined
      write(3000, 'b')
    }
    expect(markOf(await load())).toBe('a')
    expect(markOf(await load())).toBe('b')
    expect(io.reads).toBe(2)
  })

  it('is read again by each caller when a read failed', async () => {
    await writeKnown(3000, 'a')
    io.duringRead = () => {
      io.duringRead = undefined
      throw new Error('the connection was cut')
    }
    const results = await Promise.allSettled([load(), load(), load()])
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(markOf(await load())).toBe('a')
  })

  it('is another document for another FileIO, and for another location', async () => {
    await writeKnown(3000, 'a')
    write(3000, 'b', other)
    const first = await load()
    const second = await load(other)
    const elsewhere = await loadTableAt(new LocalFileIO(), NAME, location)
    expect([first, second, elsewhere].map(markOf)).toEqual(['a', 'b', 'a'])
    expect(elsewhere.metadata).not.toBe(first.metadata)
  })

  it('is missed like any other when it is deleted', async () => {
    write(3000, 'a')
    const { metadata } = await load()
    await io.delete(location)
    await expect(load()).rejects.toThrow(expect.objectContaining({ code: 'FILE_NOT_FOUND' }))
    expect(metadata.snapshots).toHaveLength(3000)
  })
})

describe('a small metadata file', () => {
  it('is read each time, and its size is not asked for', async () => {
    write(3, 'a')
    for (let at = 0; at < 5; at += 1) await load()
    expect([io.reads, io.stats]).toEqual([5, 0])
    write(3000, 'b', other)
    await load(other)
    expect((await load(other)).metadata).toBe((await load(other)).metadata)
  })
})
