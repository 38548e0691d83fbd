import { DomainError } from '../../domain/errors.ts'
import type { ColumnUser } from '../../maintenance/table-guard.ts'

const MAX_LISTED_USERS = 20

/** The refusal to rename or drop a column in use, naming its users. */
export function columnInUse(name: string, users: readonly ColumnUser[]): DomainError {
  const listed = users.slice(0, MAX_LISTED_USERS).map(describeUser)
  const more = users.length > listed.length ? ` and ${users.length - listed.length} more` : ''
  const advice = users.some(({ kind }) => kind === 'pipeline')
    ? 'stop the pipelines first'
    : 'retire the versions first, or let a LeadDataEngineer send force: true'
  const fields = listed.map((user) => ({ path: 'name', message: `used by ${user}` }))
  const message = `name: column ${name} is used by ${listed.join(', ')}${more}; ${advice}`
  return new DomainError('CONFLICT', message, { fields })
}

function describeUser(user: ColumnUser): string {
  if (user.kind === 'pipeline') return `pipeline ${user.id}`
  const { definition, environment, id, nodeIds, version } = user
  return `version ${version} of ${definition} (${environment}, ${id}, node ${nodeIds.join(', ')})`
}
