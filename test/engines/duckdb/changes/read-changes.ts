import type { ChangesRead, Engine } from '../../../../src/engines/engine.ts'
import { CHANGE_COLUMNS } from '../../../../src/iceberg/changes/change-columns.ts'
import { changeRange, type ChangeRangeRequest } from '../../../../src/iceberg/changes/change-range.ts'
import { changeTasks } from '../../../../src/iceberg/changes/changed-files.ts'
import { planChanges } from '../../../../src/iceberg/changes/plan-changes.ts'
import { currentSchema } from '../../../../src/iceberg/metadata/metadata.ts'
import type { Table } from '../../../../src/iceberg/metadata/table.ts'

/** Which changes are read, and how a changed row becomes a text. */
export interface ReadChanges extends ChangeRangeRequest, Partial<ChangesRead> {
  /** SQL of the row over the columns of the table; default: all columns of the answer. */
  readonly row: string
}

/** A changed row. */
export interface Change {
  readonly row: string
  readonly type: string
  readonly ordinal: number
  readonly snapshotId: bigint
}

/** The changed rows of a range, in one order, read as a query of a user reads them. */
export async function readChanges(engine: Engine, table: Table, request: ReadChanges): Promise<readonly Change[]> {
  const { row, keyIds = [], isByRowId = false } = request
  const inputs = []
  const range = changeRange(table.metadata, request)
  for await (const step of planChanges(table, range, { maxFiles: 10_000, maxEntries: 100_000 })) {
    inputs.push(...changeTasks(step))
  }
  const { metadata, io } = table
  const fields = [...currentSchema(metadata).fields, ...CHANGE_COLUMNS]
  const columns = ['VARCHAR', 'VARCHAR', 'INTEGER', 'BIGINT'].map((engineType, at) => ({
    name: `c${at}`,
    engineType,
    type: ({ INTEGER: { kind: 'int' }, BIGINT: { kind: 'long' }, VARCHAR: { kind: 'string' } } as const)[
      engineType as 'VARCHAR'
    ],
  }))
  const { rows } = await engine.queryRows({
    inputs: [{ name: 't', io, metadata, fields, columnsBy: 'name', inputs, changes: { keyIds, isByRowId } }],
    query: `SELECT ${row}, _change_type, _change_ordinal, _commit_snapshot_id FROM t`,
    columns,
    bounds: { maxRows: 100_000, maxBytes: 1 << 26, maxTextLength: 10_000, seconds: 60, memoryBytes: 256 * 2 ** 20 },
  })
  return inOrder(
    rows.map(([text, type, ordinal, snapshotId]) => ({
      row: String(text),
      type: String(type),
      ordinal: Number(ordinal),
      snapshotId: BigInt(String(snapshotId)),
    })),
  )
}

/** Changed rows in the order of their snapshots, kinds and texts. */
export function inOrder(changes: readonly Change[]): readonly Change[] {
  const keyOf = ({ ordinal, type, row }: Change): string => `${String(ordinal).padStart(6, '0')} ${type} ${row}`
  return changes
    .map((change) => ({ change, key: keyOf(change) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key)))
    .map(({ change }) => change)
}

/** How two lists of rows differ, each row counted as often as it occurs. */
export function bagDifference(
  before: readonly string[],
  after: readonly string[],
): readonly { readonly row: string; readonly type: string }[] {
  const counts = new Map<string, number>()
  for (const row of after) counts.set(row, (counts.get(row) ?? 0) + 1)
  for (const row of before) counts.set(row, (counts.get(row) ?? 0) - 1)
  return [...counts].flatMap(([row, count]) =>
    Array.from({ length: Math.abs(count) }, () => ({ row, type: count > 0 ? 'insert' : 'delete' })),
  )
}
