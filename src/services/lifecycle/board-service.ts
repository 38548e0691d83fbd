import type { Environment } from '../../domain/environments.ts'
import type { LifecycleStores } from '../../storage/stores/lifecycle-stores.ts'
import type { ApprovalSummary } from '../../storage/stores/approvals/approval-store.ts'
import type { Caller } from '../../domain/roles.ts'
import { pageByDefinitions } from '../identity/access/visible-lists.ts'
import type { ListPage, PageQuery } from '../paging/paging.ts'
import { requireDefinition } from './definition-service.ts'
import { keyPage, toListPage } from '../paging/paging.ts'
import {
  type DefinitionView,
  definitionView,
  statusOf,
  type VersionSummaryView,
  versionSummaryView,
} from './lifecycle-views.ts'

/** The versions of a definition in one environment. */
export interface BoardCell {
  readonly newest: VersionSummaryView
  readonly count: number
}

/** A move that is waiting for a decision, as every Auditor may see it. */
export type PendingMove = ReturnType<typeof pendingMoveView>

/** Where the versions of a definition are, and which moves are pending. */
export interface BoardRow extends DefinitionView {
  readonly environments: { readonly [E in Environment]?: BoardCell }
  readonly pending: readonly PendingMove[]
}

/** Definitions by environment, without content. */
export interface BoardService {
  /** Newest first, those that exist for the caller; with an id only that definition. Throws `NOT_FOUND`. */
  list(definitionId: string | undefined, page: PageQuery, caller: Caller): Promise<ListPage<BoardRow>>
}

/** A board over the state database. */
export function createBoardService({ stores }: { readonly stores: LifecycleStores }): BoardService {
  const read = async (definitionId: string | undefined, query: PageQuery): Promise<ListPage<BoardRow>> => {
    const page = keyPage('definitions', query)
    const definitions =
      definitionId === undefined
        ? await stores.definitions.list(undefined, page)
        : [await requireDefinition(stores, definitionId)]
    const ids = definitions.map(({ id }) => id)
    const cells = Map.groupBy(await stores.versions.newestOfEach(ids), ({ newest }) => newest.definitionId)
    const pending = Map.groupBy(await stores.approvals.pendingOfAll(ids), (request) => request.definitionId)
    return toListPage(definitions, page.limit, {
      key: ({ id }) => id,
      view: (definition) => ({
        ...definitionView(definition),
        environments: Object.fromEntries(
          (cells.get(definition.id) ?? []).map(({ newest, count }) => [
            newest.environment,
            { newest: versionSummaryView(newest), count },
          ]),
        ),
        pending: (pending.get(definition.id) ?? []).map(pendingMoveView),
      }),
    })
  }
  return {
    list: (definitionId, query, caller) =>
      pageByDefinitions(caller, { query, read: (page) => read(definitionId, page) }, ({ id }) => id),
  }
}

function pendingMoveView(request: ApprovalSummary) {
  return {
    id: request.id,
    version_id: request.versionId,
    version: request.version,
    from_environment: request.fromEnvironment,
    to_environment: request.toEnvironment,
    status: statusOf(request),
    requested_by: request.requestedBy,
    requested_at: request.requestedAt,
  }
}
