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
      return same('UUID does not match', metadata.tableUuid.toLowerCase(), requirement.uuid.toLowerCase())
    case 'assert-ref-snapshot-id':
      return checkRef(metadata, requirement.ref, requirement['snapshot-id'])
    case 'assert-last-assigned-field-id':
      return same('last assigned field id changed', metadata.lastColumnId, requirement['last-assigned-field-id'])
    case 'assert-current-schema-id':
      return same('current schema changed', metadata.currentSchemaId, requirement['current-schema-id'])
    case 'assert-last-assigned-partition-id':
      return same(
        'last assigned partition id changed',
        metadata.lastPartitionId,
        requirement['last-assigned-partition-id'],
      )
    case 'assert-default-spec-id':
      return same('default partition spec changed', metadata.defaultSpecId, requirement['default-spec-id'])
    case 'assert-default-sort-order-id':
      return same('default sort order changed', metadata.defaultSortOrderId, requirement['default-sort-order-id'])
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
    if (ref !== undefined) throw conflict(`branch or tag ${name} was created concurrently, at ${ref.snapshotId}`)
    return
  }
  if (ref === undefined) throw conflict(`branch or tag ${name} is missing, expected ${expected}`)
  same(`branch or tag ${name} has changed`, ref.snapshotId, toBigint(expected))
}

function same<T extends string | number | bigint>(what: string, actual: T, expected: T): void {
  if (actual !== expected) throw conflict(`${what}: expected ${expected}, found ${actual}`)
}

/** Begins as in the reference implementation, whose clients show the text to users. */
function conflict(problem: string): IcebergError {
  return new IcebergError('COMMIT_CONFLICT', `Requirement failed: ${problem}`)
}
