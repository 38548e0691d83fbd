import { IcebergError } from '../../errors.ts'
import { toBigint } from '../../json/json-fields.ts'
import type { TableMetadata } from '../../metadata/metadata.ts'
import type { TableRequirement } from '../table-update.ts'

/**
 * Checks that the assumptions of a change still hold. `metadata` is the table as it is now, undefined when there
 * is none. `COMMIT_CONFLICT` naming what differs; `UNSUPPORTED` for an unknown requirement, which must never pass.
 */
export function checkRequirements(
  metadata: TableMetadata | undefined,
  requirements: readonly TableRequirement[],
): void {
  for (const requirement of requirements) {
    if (requirement.type === 'assert-create') {
      if (metadata !== undefined) throw conflict('the table already exists')
    } else if (metadata === undefined) {
      throw conflict('the table no longer exists')
    } else {
      checkRequirement(metadata, requirement)
    }
  }
}

function checkRequirement(
  metadata: TableMetadata,
  requirement: Exclude<TableRequirement, { readonly type: 'assert-create' }>,
): void {
  switch (requirement.type) {
    case 'assert-table-uuid':
      return same('table uuid', metadata.tableUuid.toLowerCase(), requirement.uuid.toLowerCase())
    case 'assert-ref-snapshot-id':
      return checkRef(metadata, requirement.ref, requirement['snapshot-id'])
    case 'assert-last-assigned-field-id':
      return same('last assigned field id', metadata.lastColumnId, requirement['last-assigned-field-id'])
    case 'assert-current-schema-id':
      return same('current schema id', metadata.currentSchemaId, requirement['current-schema-id'])
    case 'assert-last-assigned-partition-id':
      return same('last assigned partition id', metadata.lastPartitionId, requirement['last-assigned-partition-id'])
    case 'assert-default-spec-id':
      return same('default partition spec id', metadata.defaultSpecId, requirement['default-spec-id'])
    case 'assert-default-sort-order-id':
      return same('default sort order id', metadata.defaultSortOrderId, requirement['default-sort-order-id'])
    default:
      throw unknownRequirement(requirement)
  }
}

function unknownRequirement(requirement: { readonly type: string }): IcebergError {
  return new IcebergError('UNSUPPORTED', `commit requirement "${requirement.type}" is not supported`)
}

function checkRef(metadata: TableMetadata, name: string, expected: bigint | null): void {
  const ref = Object.hasOwn(metadata.refs, name) ? metadata.refs[name] : undefined
  if (expected === null) {
    if (ref !== undefined) throw conflict(`"${name}" was created concurrently, at snapshot ${ref.snapshotId}`)
    return
  }
  if (ref === undefined) throw conflict(`"${name}" no longer exists, expected at snapshot ${expected}`)
  same(`snapshot of "${name}"`, ref.snapshotId, toBigint(expected))
}

function same<T extends string | number | bigint>(what: string, actual: T, expected: T): void {
  if (actual !== expected) throw conflict(`${what} has changed: expected ${expected}, found ${actual}`)
}

function conflict(problem: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', problem)
}
