import { formatIdentifier } from '../../catalog/table-identifier.ts'
import type { DomainError } from '../../domain/errors.ts'
import { mainBranch } from '../../iceberg/metadata/snapshots.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { fieldRefusal } from '../../schemas/issues.ts'
import type { IntoBranch } from '../../schemas/pipelines.ts'
import type { BatchQuery } from '../sink/batch-query.ts'
import { isPinTag } from '../pins/retention-pin.ts'
import { readSinkState } from '../sink/progress.ts'

/** The sink of a start, and the query of its checkpoint. */
interface BranchPlace {
  /** Undefined: it is created at the start. */
  readonly sink: Table | undefined
  /** Undefined for a new checkpoint. */
  readonly queryId: string | undefined
  readonly query: Pick<BatchQuery, 'write' | 'comparesWithSink'>
}

/**
 * Refuses a branch that a pipeline cannot fill, with the field `into_branch`: `UNPROCESSABLE` for a name or a table that cannot
 * have one, `CONFLICT` when the name is taken, or the checkpoint has written elsewhere.
 */
export function requireFreeBranch(branch: IntoBranch | undefined, { sink, queryId, query }: BranchPlace): void {
  if (branch === undefined) return
  const { name } = branch
  if (name === mainBranch || isPinTag(name)) throw refused('UNPROCESSABLE', `is reserved: ${name}`)
  if (query.write !== undefined && query.write.mode !== 'append') {
    throw refused('UNPROCESSABLE', `cannot be used with write "${query.write.mode}": a branch only gets appended rows`)
  }
  if (query.comparesWithSink === true) {
    throw refused('UNPROCESSABLE', 'cannot be used with against_sink: rows are compared with those of main')
  }
  if (sink !== undefined) requireFreeIn(sink, name, queryId)
}

function requireFreeIn({ metadata, identifier }: Table, name: string, queryId: string | undefined): void {
  const table = formatIdentifier(identifier)
  if (metadata.formatVersion === 1) throw refused('UNPROCESSABLE', `needs format version 2 or 3, and ${table} has 1`)
  const { lastBatch, progress } = readSinkState(metadata, queryId ?? '')
  const known = progress?.branch?.name
  if (known === name) return
  if (lastBatch >= 0) {
    throw refused('CONFLICT', `cannot be ${name}: the checkpoint has written to ${known ?? mainBranch} before`)
  }
  if (Object.hasOwn(metadata.refs, name)) throw refused('CONFLICT', `is a branch or tag of ${table} already: ${name}`)
}

function refused(code: 'UNPROCESSABLE' | 'CONFLICT', message: string): DomainError {
  return fieldRefusal(code, [{ path: 'into_branch.name', message }])
}
