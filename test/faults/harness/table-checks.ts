import { expect } from 'vitest'
import { currentSchema } from '../../../src/iceberg/metadata/metadata.ts'
import type { TableIdentifier } from '../../../src/iceberg/metadata/table.ts'
import { planFiles } from '../../../src/iceberg/scan/scan.ts'
import type { Lakehouse } from '../../interop/harness/lakehouse.ts'

/** What the API shows of an operation. */
export interface LedgerEntry {
  readonly id: string
  readonly state: string
  readonly snapshot_id: string | null
}

/** The values of the column `id` of a table, in order. */
export async function idsOf({ catalog, engine }: Lakehouse, identifier: TableIdentifier): Promise<number[]> {
  const found = await catalog.loadTable(identifier)
  const schema = currentSchema(found.metadata)
  const ids: number[] = []
  for await (const row of engine.readRows({ ...found, schema, inputs: await planFiles(found) })) {
    ids.push(Number(row['id']))
  }
  return ids.sort((a, b) => a - b)
}

/** Checks that the rewrites in a table are exactly those of which the ledger says that they succeeded, each once. */
export async function expectLedgerIsTrue(
  { catalog }: Lakehouse,
  identifier: TableIdentifier,
  ofTable: readonly LedgerEntry[],
): Promise<void> {
  const { metadata } = await catalog.loadTable(identifier)
  const committed = metadata.snapshots.flatMap(({ summary, snapshotId }) =>
    summary?.['operation'] === 'replace' ? [[summary['lockhouse.operation-id'] ?? '', String(snapshotId)]] : [],
  )
  const claimed = ofTable.flatMap(({ id, state, snapshot_id: snapshot }) =>
    state === 'succeeded' && snapshot !== null ? [[id, snapshot]] : [],
  )
  expect(committed.toSorted(), `commits of ${identifier.name}, ledger ${JSON.stringify(ofTable)}`).toEqual(
    claimed.toSorted(),
  )
}
