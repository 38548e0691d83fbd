import { operationEntry } from '../../../../../src/domain/tables/operations.ts'
import type { ActionKind } from './action-specs.ts'
import type { FormValues } from './form-values.ts'

/** Whether pipelines of the table may notice an action. */
export function changesReaders(kind: ActionKind): boolean {
  return operationEntry(kind).affects !== undefined
}

/** The path of the column that an action changes, as far as the form is filled; undefined: none. */
export function changedColumn(kind: ActionKind, { name }: FormValues): string | undefined {
  if (operationEntry(kind).affects !== 'column') return undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}
