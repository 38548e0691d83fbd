import type { PolicyTableState } from '../../storage/stores/policies/decision-store.ts'
import type { TableHealth } from '../../storage/stores/tables/health-index-store.ts'

/**
 * The state that a policy has of this table: undefined when another table had the name, such as one that was dropped
 * and created again.
 */
export function stateOfTable(
  state: PolicyTableState | undefined,
  { table_uuid: uuid }: Pick<TableHealth, 'table_uuid'>,
): PolicyTableState | undefined {
  if (state === undefined || state.table_uuid === null || uuid === '') return state
  return state.table_uuid === uuid ? state : undefined
}
