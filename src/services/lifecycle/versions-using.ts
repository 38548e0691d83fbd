import type { Environment } from '../../domain/environments.ts'
import type { ColumnUser } from '../../maintenance/table-guard.ts'
import type { LifecycleStores } from '../../storage/lifecycle-stores.ts'
import { type AskedColumn, type ColumnUsesDeps, nodesUsing } from '../../streaming/graph/column-uses.ts'

/** Environments whose versions others rely on. */
const GUARDED: readonly Environment[] = ['uat', 'production']

/** Versions in uat and production that would break when the column is renamed or dropped, by definition and number. */
export async function versionsUsing(
  column: AskedColumn,
  { stores, ...deps }: ColumnUsesDeps & { readonly stores: LifecycleStores },
): Promise<readonly ColumnUser[]> {
  const users: ColumnUser[] = []
  for await (const { id, graph, definitionName, version, environment } of stores.versions.inEnvironments(GUARDED)) {
    const nodeIds = await nodesUsing(graph, column, deps)
    if (nodeIds.length > 0) {
      users.push({ kind: 'version', id, definition: definitionName, version, environment, nodeIds })
    }
  }
  return users
}
