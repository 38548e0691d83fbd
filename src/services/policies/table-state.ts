import type { PolicyTableStatesTable, TableHealthTable } from '../../storage/automation-schema.ts'

/**
 * The state that a policy has of this table: undefined when another table had the name, such as one that was dropped
 * and created again.
 */
export function stateOfTable(
  state: PolicyTableStatesTable | undefined,
  { table_uuid: uuid }: Pick<TableHealthTable, 'table_uuid'>,
): PolicyTableStatesTable | undefined {
  if (state === undefined || state.table_uuid === null || uuid === '') return state
  return state.table_uuid === uuid ? state : undefined
}
