import { describe, expect, it } from 'vitest'

import type { JsonObject } from '../../../src/iceberg/json/lossless-json.ts'
import { tableMetadataFromJson } from '../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../src/iceberg/metadata/table.ts'
import { previewExpiry } from '../../../src/maintenance/expiry/expire.ts'
import { planManifestRewrite } from '../../../src/maintenance/manifests/rewrite-manifests.ts'
import { MemoryTable, TABLE } from '../memory-table.ts'

const FIRST_ID = 4_611_686_018_427_387_904n
const NOW_MS = 1_000_000_000_000

/** The table with so many snapshots in place of its own, whose manifest lists are missing; counts how often one is looked at. */
function withSnapshots({ metadata, ...table }: Table, count: number): { readonly table: Table; looks(): number } {
  const list: JsonObject[] = Array.from({ length: count }, (_, at) => ({
    'snapshot-id': FIRST_ID + BigInt(at),
    ...(at > 0 && { 'parent-snapshot-id': FIRST_ID + BigInt(at - 1) }),
    'sequence-number': at + 1,
    'timestamp-ms': at * 1000,
    'manifest-list': `${metadata.location}/metadata/snap-${at}.avro`,
    summary: { operation: 'append' },
  }))
  const json = {
    ...metadata.json,
    'last-sequence-number': count,
    snapshots: list,
    'current-snapshot-id': FIRST_ID + BigInt(count - 1),
  }
  const many = tableMetadataFromJson({ ...json, refs: {} })
  let looks = 0
  const snapshots = new Proxy(many.snapshots, {
    get(target, key, receiver): unknown {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks += 1
      return Reflect.get(target, key, receiver)
    },
  })
  return { table: { ...table, metadata: { ...many, snapshots } }, looks: () => looks }
}

async function preview(count: number) {
  const lake = await MemoryTable.create()
  const { table, looks } = withSnapshots(await lake.load(), count)
  const request = { older_than: new Date(NOW_MS).toISOString(), retain_last: 1 }
  const details = await previewExpiry({
    catalog: lake.catalog,
    identifier: TABLE,
    request,
    nowMs: NOW_MS,
    loaded: table,
  })
  return { details, looks: looks() }
}

describe('an expiry of many snapshots', () => {
  it('looks at each snapshot a few times, however many there are', async () => {
    const [few, many] = [await preview(200), await preview(2000)]
    expect(many.details.expired_snapshots_count).toBe(1999)
    expect(many.details.expired_snapshots).toHaveLength(1000)
    expect(many.details.expired_snapshots.slice(0, 2)).toMatchObject([
      { snapshot_id: String(FIRST_ID), committed_at: '1970-01-01T00:00:00.000Z', operation: 'append' },
      { snapshot_id: String(FIRST_ID + 1n), committed_at: '1970-01-01T00:00:01.000Z', operation: 'append' },
    ])
    expect(many.looks / 2000).toBeLessThan(20)
    expect(many.looks / 2000).toBeLessThan((few.looks / 200) * 1.5)
  })

  it('finds no file of snapshots whose manifest lists are missing', async () => {
    const { details } = await preview(50)
    expect(details.deleted_data_files_count + details.deleted_manifest_files_count).toBe(0)
    expect(details.unread_snapshots).toHaveLength(49)
    expect(details.unread_snapshots.filter((one) => one.is_kept)).toHaveLength(0)
  })
})

describe('a rewrite of many manifests', () => {
  it('merges the small ones of each spec and content, in order', async () => {
    const { metadata } = await (await MemoryTable.create()).load()
    const manifests = Array.from({ length: 10_000 }, (_, at) => ({
      manifestPath: `m${at}`,
      manifestLength: at % 7 === 0 ? 7_000_000 : 1000,
      partitionSpecId: at % 3,
      content: at % 2 === 0 ? ('data' as const) : ('deletes' as const),
      sequenceNumber: at,
      minSequenceNumber: at,
      addedSnapshotId: 1n,
    }))
    const groups = planManifestRewrite(metadata, manifests)
    expect(groups).toHaveLength(6)
    for (const group of groups) {
      const { specId, content } = group
      const wanted = manifests.filter((one) => one.partitionSpecId === specId && one.content === content)
      expect(group.manifests).toEqual(wanted.filter(({ manifestLength }) => manifestLength === 1000))
    }
  })
})
