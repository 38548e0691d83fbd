import type { Catalog } from '../../catalog/catalog.ts'
import { formatIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import { type Caller, hasRole } from '../../domain/roles.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import { listedIn } from '../environments/write-rules.ts'

/** A change of a table by another system. */
export interface ForeignWrite {
  readonly environments: Pick<EnvironmentService, 'list'>
  readonly catalog: Catalog
  readonly identifier: TableIdentifier
  readonly caller: Caller
}

/**
 * Throws `FORBIDDEN` when uat or production lists the table in its `writes` and the caller is no LeadDataEngineer: the
 * rule for pipelines without a version (docs/api.md#environments).
 */
export async function requireMayWrite({ environments, catalog, identifier, caller }: ForeignWrite): Promise<void> {
  if (hasRole(caller.role, 'LeadDataEngineer')) return
  const rule = await listedIn(await environments.list(), { catalog, table: formatIdentifier(identifier) })
  if (rule === undefined) return
  const who = 'only versions that run there, and clients with the role LeadDataEngineer, may write it'
  throw new DomainError('FORBIDDEN', `${rule}: ${who}; ${caller.user} is ${caller.role}`)
}

/** Whether a commit changes the rows that readers of a table see, or creates the table. */
export function changesRows(base: Table | undefined, next: Table): boolean {
  return base === undefined || base.metadata.currentSnapshotId !== next.metadata.currentSnapshotId
}
