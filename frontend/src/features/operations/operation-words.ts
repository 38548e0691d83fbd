import type { Operation, OperationState } from '../../api/types.ts'
import type { StatusTone } from '../../components/status/status-dot.tsx'
import { operations as shared } from '../../strings/everywhere/common.ts'
import { operationStrings as strings } from '../../strings/operations.ts'
import { details, digest } from '../../strings/table-actions.ts'
import { humanKey } from './result-figures.ts'

/** The color of each state. */
export const STATE_TONES: Readonly<Record<OperationState, StatusTone>> = {
  running: 'active',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'idle',
  unknown: 'warn',
}

/** The display name of an operation; unknown operations keep their own name. */
export function operationName(kind: string): string {
  return shared.names[kind] ?? kind
}

/** A short summary of the effect of an operation; empty if there is none. */
export function outcomeOf(operation: Operation): string {
  const { state, error, progress, health_before: before, health_after: after } = operation
  if (state === 'running') return progress ? strings.percentDone(shareDone(progress)) : ''
  if (state === 'cancelled') return ''
  if (error) return error.message
  const [from, to] = [numberIn(before, 'score'), numberIn(after, 'score')]
  const score = from !== undefined && to !== undefined && from !== to ? strings.score(from, to) : ''
  return [effectOf(operation), score].filter((part) => part !== '').join(', ')
}

/** The effect that each kind of operation has, from its result or its request. */
function effectOf({ operation: kind, result, request }: Operation): string {
  const { effects } = strings
  const count = (key: string): number => numberIn(result, key) ?? 0
  const text = (key: string): string => textIn(request, key)
  switch (kind) {
    case 'compact':
      return effects.compact(count('rewritten_data_files_count'), count('added_data_files_count'))
    case 'expire':
      return effects.expire(count('expired_snapshots_count'))
    case 'convert_deletes':
      return effects.convertDeletes(count('converted_delete_files_count'), count('converted_rows_count'))
    case 'rewrite_position_deletes':
      return effects.rewriteDeletes(count('rewritten_delete_files_count'), count('added_delete_files_count'))
    case 'rewrite_manifests':
      return effects.rewriteManifests(count('rewritten_manifests_count'), count('added_manifests_count'))
    case 'remove_orphans':
      return effects.removeOrphans(count('deleted_files_count'))
    case 'rollback':
      return effects.rollback(count('undone_snapshots_count'))
    case 'restore':
      return effects.restore(count('restored_snapshots_count'), count('restored_files_count'))
    case 'add_column':
      return effects.addColumn(text('name'), text('type'))
    case 'rename_column':
      return effects.renameColumn(text('name'), text('new_name'))
    case 'drop_column':
      return text('name')
    default:
      return ''
  }
}

/** How much of the bytes of an operation is done, from 0 to 1. */
export function shareDone({ bytes_done: done, bytes_total: total }: NonNullable<Operation['progress']>): number {
  return total === 0 ? 0 : Math.min(1, done / total)
}

function valueIn(object: unknown, key: string): unknown {
  return typeof object === 'object' && object !== null ? (object as Readonly<Record<string, unknown>>)[key] : undefined
}

function numberIn(object: unknown, key: string): number | undefined {
  const value = valueIn(object, key)
  return typeof value === 'number' ? value : undefined
}

function textIn(object: unknown, key: string): string {
  const value = valueIn(object, key)
  return typeof value === 'string' ? value : ''
}

const FIGURES: Readonly<Record<string, string>> = { ...digest, ...details }

/** The display name of a figure of a result or health report; unknown figures keep their own name. */
export function figureName(key: string): string {
  return FIGURES[key] ?? humanKey(key)
}
