import type { ChangesAnswer } from '../../../../api/types.ts'
import { tableChanges as words } from '../../../../strings/query.ts'

/** Changed rows as a grid shows them: the kind in words first, the ordinal left out. */
export interface ChangeGrid extends Pick<ChangesAnswer, 'columns' | 'rows'> {
  /** Whether the row at a place was added or removed. */
  readonly kindOf: (at: number) => 'added' | 'removed'
}

const TYPE = '_change_type'
const ORDINAL = '_change_ordinal'

/** Builds the grid of changed rows. */
export function toChangeGrid({ columns, rows }: Pick<ChangesAnswer, 'columns' | 'rows'>): ChangeGrid {
  const typeAt = columns.findIndex(({ name }) => name === TYPE)
  const shown = columns.flatMap(({ name }, at) => (name === TYPE || name === ORDINAL ? [] : [at]))
  const type = (row: readonly unknown[] | undefined): string => String(row?.[typeAt])
  return {
    columns: [{ name: words.kind, type: '' }, ...shown.flatMap((at) => columns[at] ?? [])],
    rows: rows.map((row) => [kindText(type(row)), ...shown.map((at) => row[at])]),
    kindOf: (at) => (['insert', 'update_after'].includes(type(rows[at])) ? 'added' : 'removed'),
  }
}

function kindText(type: string): string {
  return Object.entries(words.kinds).find(([kind]) => kind === type)?.[1] ?? type
}
