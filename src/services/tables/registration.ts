import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import { reservedNames } from './reserved-names.ts'

/**
 * Refuses a registration that could change where a pipeline goes on, unless a LeadDataEngineer makes it: metadata with
 * records of this service, and a name that pipelines read or write. An older or edited metadata file would make them
 * skip or repeat rows. Throws `FORBIDDEN`.
 */
export async function requireRegistrable(
  guard: Pick<TableGuard, 'pipelinesOf'>,
  { identifier, metadata }: Table,
  caller: Caller,
): Promise<void> {
  if (hasRole(caller.role, 'LeadDataEngineer')) return
  const name = formatIdentifier(identifier)
  const [record] = reservedNames(metadata)
  const [user] = await guard.pipelinesOf(name)
  const reason =
    record === undefined
      ? user && `pipeline ${user.id} uses ${name}`
      : `its metadata has records of pipelines (${record})`
  if (reason === undefined) return
  throw new DomainError('FORBIDDEN', `${name} can only be registered by a LeadDataEngineer: ${reason}`)
}
