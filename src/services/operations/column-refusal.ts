import { DomainError } from '../../domain/errors.ts'
import { plural } from '../../lib/text.ts'
import type { ColumnUser, UnreadRows } from '../../maintenance/table-guard.ts'

const MAX_LISTED_USERS = 20

/**
 * The refusal to change or drop a column in use, naming its users: `PIPELINE_BEHIND` when pipelines have not read values of
 * the column, else `CONFLICT`.
 */
export function columnInUse(name: string, users: readonly ColumnUser[]): DomainError {
  const isBehind = users.some((user) => user.kind === 'pipeline' && user.unread !== undefined)
  const listed = users.slice(0, MAX_LISTED_USERS).map(describeUser)
  const more = users.length > listed.length ? ` and ${users.length - listed.length} more` : ''
  const fields = listed.map((user) => ({ path: 'name', message: `used by ${user}` }))
  const message = `name: column ${name} is used by ${listed.join(', ')}${more}; ${adviceFor(users, isBehind)}`
  return new DomainError(isBehind ? 'PIPELINE_BEHIND' : 'CONFLICT', message, { fields })
}

function adviceFor(users: readonly ColumnUser[], isBehind: boolean): string {
  if (isBehind) return 'let each pipeline read on until its lag is 0, then stop it; or delete the pipeline'
  if (users.some(({ kind }) => kind === 'pipeline')) return 'stop the pipelines first'
  return 'retire the versions first, or let a LeadDataEngineer send force: true'
}

function describeUser(user: ColumnUser): string {
  if (user.kind === 'pipeline') return `pipeline ${user.id}${unreadText(user.unread)}`
  const { definition, environment, id, nodeIds, version } = user
  return `version ${version} of ${definition} (${environment}, ${id}, node ${nodeIds.join(', ')})`
}

function unreadText(unread: UnreadRows | undefined): string {
  if (unread === undefined) return ''
  return ` (which has ${plural(unread.rows, 'row')} of ${plural(unread.snapshots, 'snapshot')} still to read)`
}
