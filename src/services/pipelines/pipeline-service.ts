import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/roles.ts'
import type { ListPipelinesQuery, PipelineHistoryQuery, StartPipelineRequest } from '../../schemas/pipelines.ts'
import {
  createPipelineStore,
  type PipelineRecord,
  type PipelineStore,
} from '../../storage/stores/pipelines/pipeline-store.ts'
import { describePipeline, type PipelineView } from '../../streaming/supervision/pipeline-view.ts'
import { tablesOfPipeline } from '../identity/access/object-tables.ts'
import { seesTables } from '../identity/access/require-access.ts'
import { requireRoleOn } from '../environments/write-rules.ts'
import { type ListPage, pageOfList } from '../paging/paging.ts'
import { requireRange } from '../paging/time-range.ts'
import { type PipelineServiceDeps, recordPipelineChange } from './pipeline-deps.ts'
import type { PipelineHistoryView } from './history/pipeline-history.ts'
import { startPipeline } from './start-pipeline.ts'

/** Starts, stops and shows streaming pipelines. */
export interface PipelineService {
  /** Validates the request, records the pipeline and starts it; errors name the field. */
  start(request: StartPipelineRequest, context: RequestContext): Promise<PipelineView>
  /** Stops a pipeline; one that is not live stays unchanged. Throws `NOT_FOUND`, `FORBIDDEN` for its environment's role. */
  stop(id: string, mode: 'graceful' | 'immediate', context: RequestContext): Promise<PipelineView>
  /** Throws `NOT_FOUND`. */
  status(id: string): Promise<PipelineView>
  /** Triggers and states of the pipeline. Throws `NOT_FOUND`, `INVALID_REQUEST` for a range that ends before it begins. */
  history(id: string, query: PipelineHistoryQuery): Promise<PipelineHistoryView>
  /** Newest first, those whose tables all exist for the caller. */
  list(query: ListPipelinesQuery, caller: Caller): Promise<ListPage<PipelineView>>
  /** Deletes a pipeline that is not live. Throws `NOT_FOUND`, `CONFLICT`, `FORBIDDEN` for its environment's role. */
  forget(id: string, context: RequestContext): Promise<void>
  /** All pipelines that exist for the caller, or one, for the first message of a monitor. Throws `NOT_FOUND`. */
  describeAll(caller: Caller, id?: string): Promise<readonly PipelineView[]>
}

/** Pipelines over a supervisor. */
export function createPipelineService(deps: PipelineServiceDeps): PipelineService {
  const find = (id: string): Promise<PipelineRecord> => findPipeline(deps, id)
  return {
    start: (request, context) => startPipeline(deps, request, context),
    async stop(id, mode, context) {
      const pipeline = await find(id)
      await deps.inTransaction(async (tx) => {
        const store = createPipelineStore(tx)
        await requireRole(store, id, context)
        await deps.owners?.beforeStop(tx, id)
        if (!(await store.requestStop(id))) return
        await recordPipelineChange(deps, tx, {
          action: 'pipeline.stop',
          event: 'pipeline.stopping',
          pipeline,
          context,
          details: { mode },
        })
      })
      await deps.supervisor.stop(id, mode)
      return describePipeline(await find(id))
    },
    status: async (id) => describePipeline(await find(id)),
    async history(id, query) {
      requireRange(query)
      return deps.history.of((await find(id)).id, query)
    },
    async list({ state, ...page }, caller) {
      const records = await visiblePipelines(deps, caller)
      const shown = state === undefined ? records : records.filter((one) => one.state === state)
      const newest = records[0]?.id ?? ''
      return pageOfList(shown.map(describePipeline), page, `pipelines ${state ?? ''} ${newest}`)
    },
    async forget(id, context) {
      const pipeline = await find(id)
      await deps.inTransaction(async (tx) => {
        const store = createPipelineStore(tx)
        await requireRole(store, id, context)
        await deps.owners?.requireDeletable(tx, id)
        if (!(await store.delete(id))) {
          throw new DomainError('CONFLICT', `pipeline ${id} is ${pipeline.state}: stop it first`)
        }
        await recordPipelineChange(deps, tx, {
          action: 'pipeline.delete',
          event: 'pipeline.deleted',
          pipeline,
          context,
        })
      })
      await deps.history.forget(id)
      await deps.unpin?.(pipeline)
    },
    async describeAll(caller, id) {
      if (id === undefined) return (await visiblePipelines(deps, caller)).map(describePipeline)
      const record = await find(id)
      if (!seesTables(caller, tablesOfPipeline(record))) throw noPipeline(id)
      return [describePipeline(record)]
    },
  }
}

async function visiblePipelines({ store }: PipelineServiceDeps, caller: Caller): Promise<readonly PipelineRecord[]> {
  return (await store.list()).filter((one) => seesTables(caller, tablesOfPipeline(one)))
}

async function findPipeline({ store }: PipelineServiceDeps, id: string): Promise<PipelineRecord> {
  const record = await store.find(id)
  if (record) return record
  throw noPipeline(id)
}

function noPipeline(id: string): DomainError {
  return new DomainError('NOT_FOUND', `no pipeline ${id}`)
}

/** Stopping or deleting what runs in an environment needs the role that deploys there. */
async function requireRole(store: Pick<PipelineStore, 'find'>, id: string, { caller }: RequestContext): Promise<void> {
  requireRoleOn((await store.find(id)) ?? {}, caller)
}
