import type { ActionKind } from './action-specs.ts'
import type { FormValues } from './form-values.ts'

/** Actions after which pipelines may read or write something else; the others only write the same rows again. */
const CHANGING: ReadonlySet<ActionKind> = new Set(['rollback', 'expire', 'drop_column', 'rename_column'])

/** Whether pipelines of the table may notice an action. */
export function changesReaders(kind: ActionKind): boolean {
  return CHANGING.has(kind)
}

/** The path of the column that an action changes, as far as the form is filled; undefined: none. */
export function changedColumn(kind: ActionKind, { name }: FormValues): string | undefined {
  if (kind !== 'drop_column' && kind !== 'rename_column') return undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}
