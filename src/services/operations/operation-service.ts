import { DomainError } from '../../domain/errors.ts'
import { isPolicyUser } from '../../domain/policies/policy.ts'
import type { IdSource } from '../../domain/ids.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { Caller } from '../../domain/roles.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { IcebergError, isIcebergError } from '../../iceberg/errors.ts'
import { DatabaseError } from '../../storage/database-error.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type {
  OperationDetails,
  OperationProgress,
  OperationRecord,
} from '../../storage/stores/operations/operation-record.ts'
import type {
  OperationFilter,
  OperationOutcome,
  OperationStore,
} from '../../storage/stores/operations/operation-store.ts'
import type { Operation } from '../../schemas/tables/operations.ts'
import type { Prices } from '../../domain/tables/prices.ts'
import { pageByTables } from '../identity/access/visible-lists.ts'
import type { Logger } from '../logger.ts'
import type { NewOperation, OperationLedger } from './ledger.ts'
import { cursorPage, fromCursorPage, type ListPage, type PageQuery } from '../paging/paging.ts'
import { toOperation } from './operation-view.ts'
import { createOutcomeWriter, type OutcomeWriter } from './outcome-writer.ts'
import { createLocalTableLock, type TableHold, type TableLock } from '../tables/table-lock.ts'

export interface OperationServiceDeps {
  readonly operations: OperationStore
  readonly ledger: OperationLedger
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
  /** Default: locks of this process. */
  readonly lock?: TableLock | undefined
  /** For the money in receipts. */
  readonly prices?: Prices | undefined
}

/** What running work can use. */
export interface OperationHandle {
  readonly id: string
  /** Aborted by a cancellation or by shutdown. */
  readonly signal: AbortSignal
  /** Reports progress; written to the ledger at most twice a second. */
  progress(progress: OperationProgress): void
  /** Records what recovery after a crash needs; resolves when it is durable. Throws `CANCELLED` when the operation has ended. */
  record(details: OperationDetails): Promise<void>
  /** Throws `CANCELLED` when another process may work on the table by now. Call it right before each commit. */
  confirm(): Promise<void>
}

/** Does the work, and returns its result with what the ledger keeps. */
export type RunOperation<T extends StoredJson> = (
  handle: OperationHandle,
) => Promise<{ readonly result: T; readonly details: OperationDetails }>

/** Requested work on one table. */
export interface OperationWork<T extends StoredJson> {
  readonly kind: string
  readonly table: string
  readonly context: RequestContext
  readonly request: StoredJson
  readonly run: RunOperation<T>
}

/** The same, also when an ended process had begun it: then the request is over. */
interface RunningWork<T extends StoredJson> {
  readonly kind: string
  readonly table: string
  readonly user: string
  readonly context: RequestContext | undefined
  readonly run: RunOperation<T>
}

export interface StartedOperation<T> {
  readonly id: string
  /** Resolves with the work's result, or rejects with its error, after the ledger has the outcome. */
  readonly done: Promise<T>
}

/** An operation that goes on. */
export interface ResumedOperation {
  /** Resolves when it has ended, however it ended. */
  readonly done: Promise<void>
}

/** Runs work on tables, one at a time per table, and records it in the ledger. */
export interface OperationService {
  start<T extends StoredJson>(work: OperationWork<T>): Promise<StartedOperation<T>>
  /**
   * Continues an operation that an ended process had begun: when this resolves, the table is held or waited for. `done`
   * never rejects. Undefined, with nothing changed, when the operation has ended.
   */
  resume(operation: OperationRecord, run: RunOperation<StoredJson>): Promise<ResumedOperation | undefined>
  /** Throws `NOT_FOUND`. */
  find(id: string): Promise<OperationRecord>
  /** As the API returns it, with money at the configured prices. */
  view(operation: OperationRecord): Operation
  /** Newest first, those on tables that exist for the caller. */
  list(filter: OperationFilter, page: PageQuery, caller: Caller): Promise<ListPage<OperationRecord>>
  /** Cancels a running operation; what was committed stays. Throws `NOT_FOUND`, or `CONFLICT` when it has ended. */
  cancel(id: string, context: RequestContext): Promise<OperationRecord>
  /** The operation now and after each change, until it has ended. */
  watch(id: string, signal: AbortSignal): AsyncIterable<OperationRecord>
  /** Refuses new work, cancels running work and resolves when it has stopped. */
  shutDown(): Promise<void>
}

const PROGRESS_INTERVAL_MS = 500

interface Running {
  readonly table: string
  readonly user: string
  readonly abort: AbortController
  readonly done: Promise<unknown>
}

/** Operations over a ledger. */
export function createOperationService(deps: OperationServiceDeps): OperationService {
  const runner = createRunner(deps)
  const running = new Map<string, Running>()
  let shuttingDown = false

  async function start<T extends StoredJson>(work: OperationWork<T>): Promise<StartedOperation<T>> {
    if (shuttingDown) throw new DomainError('SHUTTING_DOWN', 'the service is shutting down')
    const { kind, table, context, request } = work
    const id = context.operationId ?? deps.newId('op')
    if (!isPolicyUser(context.caller.user)) cancelPolicies(running, table)
    await begin(runner, { id, kind, table, request, createdAt: deps.now().toISOString() }, context)
    return { id, done: follow(id, { ...work, user: context.caller.user }) }
  }

  function follow<T extends StoredJson>(id: string, work: RunningWork<T>): Promise<T> {
    const { table, user } = work
    const abort = new AbortController()
    const done = runToOutcome(runner, work, createHandle(runner, id, abort)).finally(() => {
      running.delete(id)
      runner.changes.notify(id)
    })
    running.set(id, { table, user, abort, done: done.catch(ignore) })
    done.catch(ignore) // after a 202 response no caller waits
    return done
  }

  async function resume(operation: OperationRecord, run: RunOperation<StoredJson>) {
    const { id, kind, table, requestedBy } = operation
    if (!(await deps.ledger.adopt(operation))) return undefined
    const done = follow(id, { kind, table, user: requestedBy, context: undefined, run })
    return { done: done.then(ignore, ignore) }
  }

  async function find(id: string): Promise<OperationRecord> {
    const operation = await deps.operations.find(id)
    if (!operation) throw new DomainError('NOT_FOUND', `no operation ${id}`)
    return operation
  }

  return {
    start,
    resume,
    find,
    view: (operation) => toOperation(operation, deps.prices),
    list: (filter, query, caller) =>
      pageByTables(caller, { query, read: (page) => listPage(deps, filter, page) }, ({ table }) => [table]),
    async cancel(id, context) {
      const operation = await find(id)
      const live = running.get(id)
      if (!live) throw new DomainError('CONFLICT', `operation ${id} has ended: it is ${operation.state}`)
      await deps.ledger.cancel(operation, context)
      live.abort.abort(new IcebergError('CANCELLED', `operation ${id} was cancelled`))
      await live.done
      return find(id)
    },
    watch: (id, signal) => watch({ find, changes: runner.changes, running }, id, signal),
    async shutDown() {
      shuttingDown = true
      await cancelAll(running)
      await runner.outcomes.close()
    },
  }
}

async function listPage(
  { operations }: OperationServiceDeps,
  filter: OperationFilter,
  page: PageQuery,
): Promise<ListPage<OperationRecord>> {
  return fromCursorPage(await operations.list(filter, cursorPage(page)), (operation) => operation)
}

/** Puts an operation into the ledger; if the database does not confirm that, the operation ends there. */
async function begin(
  { deps, outcomes }: OperationRunner,
  operation: NewOperation,
  context: RequestContext,
): Promise<void> {
  try {
    await deps.ledger.begin(operation, context)
  } catch (error) {
    const mayBeStored = error instanceof DatabaseError && !error.refused
    // before the answer, so that a repetition with the same key finds that nothing was done
    if (mayBeStored) await outcomes.write({ id: operation.id, outcome: notBegun(deps.now()), context }).catch(ignore)
    throw error
  }
}

function notBegun(now: Date): OperationOutcome {
  const message = 'the state database did not confirm that the operation began; nothing was done'
  return { state: 'failed', error: { code: 'INTERRUPTED', message }, finishedAt: now.toISOString(), durationMs: 0 }
}

const ignore = (): void => undefined

interface Watched {
  readonly find: OperationService['find']
  readonly changes: ReturnType<typeof createChangeSignal>
  readonly running: ReadonlyMap<string, unknown>
}

async function* watch({ find, changes, running }: Watched, id: string, signal: AbortSignal) {
  while (true) {
    const changed = changes.next(id, signal)
    const operation = await find(id)
    yield operation
    if (!running.has(id)) return
    await changed
    if (signal.aborted) return
  }
}

async function cancelAll(running: ReadonlyMap<string, Running>): Promise<void> {
  const live = [...running.values()]
  for (const { abort } of live) abort.abort(new IcebergError('CANCELLED', 'the service is shutting down'))
  await Promise.all(live.map(({ done }) => done))
}

/** Operations that people start come first: those of policies on the same table end, and are repeated later. */
function cancelPolicies(running: ReadonlyMap<string, Running>, table: string): void {
  for (const { table: other, user, abort } of running.values()) {
    if (other !== table || !isPolicyUser(user)) continue
    abort.abort(startedByPerson())
  }
}

/** The same for a policy's operation here, when the person's operation waits in another process. */
async function yieldToPeople(
  { operations }: OperationServiceDeps,
  { table, user }: Pick<RunningWork<StoredJson>, 'table' | 'user'>,
  { abort }: OwnHandle,
): Promise<void> {
  if (!isPolicyUser(user)) return
  const waiting = await operations.listUnsettled()
  const isWanted = waiting.some(
    (one) => one.table === table && one.state === 'running' && !isPolicyUser(one.requestedBy),
  )
  if (isWanted) abort(startedByPerson())
}

function startedByPerson(): IcebergError {
  return new IcebergError('CANCELLED', 'cancelled because a person started an operation on the table')
}

/** State that all operations share. */
interface OperationRunner {
  readonly deps: OperationServiceDeps
  readonly lock: TableLock
  readonly outcomes: OutcomeWriter
  readonly changes: ReturnType<typeof createChangeSignal>
}

function createRunner(deps: OperationServiceDeps): OperationRunner {
  const lock = deps.lock ?? createLocalTableLock()
  return { deps, lock, outcomes: createOutcomeWriter(deps), changes: createChangeSignal() }
}

/** Runs work when its table is free, and writes its outcome into the ledger before it resolves or rejects. */
async function runToOutcome<T extends StoredJson>(
  { deps, lock, outcomes }: OperationRunner,
  work: RunningWork<T>,
  handle: OwnHandle,
): Promise<T> {
  const startedAt = deps.now()
  const finish = async (outcome: Omit<OperationOutcome, 'finishedAt' | 'durationMs'>): Promise<void> => {
    const finishedAt = deps.now()
    const durationMs = finishedAt.getTime() - startedAt.getTime()
    const full = { ...outcome, finishedAt: finishedAt.toISOString(), durationMs }
    await outcomes.write({ id: handle.id, outcome: full, context: work.context })
  }
  const fail = async (error: unknown): Promise<unknown> => {
    const { kind, table, context } = work
    // first, so that the reason is known even when the ledger cannot be written
    deps.log.warn('operation failed', { operation_id: handle.id, request_id: context?.requestId, kind, table, error })
    await finish(describeFailure(error))
    const failure =
      handle.signal.aborted && !(error instanceof IcebergError)
        ? new IcebergError('CANCELLED', `${work.kind} of ${work.table} was cancelled`, { cause: error })
        : error
    deps.ledger.recorded(failure)
    return failure
  }
  const settle = async (): Promise<Awaited<ReturnType<typeof work.run>>> => {
    try {
      const holder = { signal: handle.signal, abort: handle.abort, onRenewed: () => yieldToPeople(deps, work, handle) }
      return await lock.run(work.table, holder, async (hold) => {
        handle.hold(hold)
        await handle.record({ startedAt: deps.now().toISOString() })
        return work.run(handle)
      })
    } catch (error) {
      await handle.settleProgress()
      throw await fail(error)
    }
  }
  const { result, details } = await settle()
  await handle.settleProgress()
  // When this fails, the work is done but unsettled: it is settled in the background, or by the next start.
  await finish({ ...details, state: 'succeeded', result })
  return result
}

interface OwnHandle extends OperationHandle {
  /** Records the last reported progress, however recent; nothing may be reported after it. */
  settleProgress(): Promise<void>
  abort(reason: IcebergError): void
  /** From now on, the table is held. */
  hold(hold: TableHold): void
}

function createHandle({ deps, changes }: OperationRunner, id: string, abort: AbortController): OwnHandle {
  let writtenAt = 0
  let held: TableHold | undefined
  let unwritten: OperationProgress | undefined
  let writing: Promise<void> = Promise.resolve()
  const write = (): void => {
    const progress = unwritten
    unwritten = undefined
    if (progress === undefined) return
    // one after the other, so that an earlier figure never replaces a later one
    writing = writing
      .then(() => deps.operations.updateProgress(id, progress))
      .then(
        () => changes.notify(id),
        (error: unknown) => deps.log.warn('progress was not recorded', { operation_id: id, error }),
      )
  }
  return {
    id,
    signal: abort.signal,
    abort: (reason) => abort.abort(reason),
    hold(taken) {
      held = taken
    },
    async confirm() {
      await held?.confirm()
    },
    progress(progress) {
      unwritten = progress
      const now = deps.now().getTime()
      if (now - writtenAt < PROGRESS_INTERVAL_MS) return
      writtenAt = now
      write()
    },
    async settleProgress() {
      write()
      await writing
    },
    async record(details) {
      const isRunning = await deps.operations.update(id, details)
      if (!isRunning) throw new IcebergError('CANCELLED', `another process has ended operation ${id}`)
      changes.notify(id)
    },
  }
}

function describeFailure(error: unknown): Pick<OperationOutcome, 'state' | 'error'> {
  const known = error instanceof IcebergError || error instanceof DomainError
  const described = known
    ? { code: error.code, message: withoutPaths(error.message) }
    : { code: 'INTERNAL', message: 'unexpected error; see the log for this operation id' }
  if (isIcebergError(error, 'CANCELLED')) return { state: 'cancelled', error: described }
  if (isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) return { state: 'unknown', error: described }
  return { state: 'failed', error: described }
}

/** Notifies waiters of the next change of a key. */
function createChangeSignal() {
  const waiting = new Map<string, Set<() => void>>()
  return {
    notify(key: string): void {
      const wake = waiting.get(key)
      waiting.delete(key)
      for (const resolve of wake ?? []) resolve()
    },
    next(key: string, signal: AbortSignal): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = waiting.get(key) ?? new Set()
      waiting.set(key, wake.add(resolve))
      signal.addEventListener('abort', () => resolve(), { once: true })
      return promise
    },
  }
}
