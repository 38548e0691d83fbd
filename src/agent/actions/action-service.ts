import { requireToolReach } from '../tools/run-tool.ts'
import type { ActionContext, PendingActionView, ProposedAction } from '../tools/proposed-action.ts'
import { toStoredJson } from '../tools/stored-value.ts'
import type { ChangeTool, ToolRun } from '../tools/tool.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { DomainError } from '../../domain/errors.ts'
import type { IdSource } from '../../domain/ids.ts'
import { hasRole } from '../../domain/roles.ts'
import { withoutPaths } from '../../domain/without-paths.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { AgentActionView, ListActionsQuery } from '../../schemas/agent.ts'
import {
  type ActionError,
  type ActionOutcome,
  type ActionRecord,
  type AgentActionStore,
  createAgentActionStore,
} from '../../storage/stores/agent/action-store.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { Instance } from '../../storage/instance-registry.ts'
import type { InTransaction, Tx } from '../../storage/transactions.ts'
import type { AuditRecorder } from '../../services/audit/audit-service.ts'
import type { EventWriter } from '../../services/events/event-log.ts'
import { keyPage, toListPage } from '../../services/paging/paging.ts'
import type { ListPage } from '../../services/paging/paging.ts'
import { stateProblem } from '../../services/health/state-problem.ts'
import { stateOf, toActionView, toPendingAction } from './action-view.ts'

export interface ActionServiceDeps {
  /** For reads. Writes create a store inside their transaction. */
  readonly store: AgentActionStore
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly instance: Pick<Instance, 'id' | 'isAlive'>
  readonly newId: IdSource
  readonly now: () => Date
  /** The tool that proposed an action; undefined when this release has no tool of that name. */
  readonly findTool: (name: string) => ChangeTool | undefined
  /** Services that a confirmed action may use. */
  readonly services: () => ToolRun['services']
}

/** A confirmed action: its current state and its final state. */
export interface ConfirmedAction {
  readonly action: AgentActionView
  /** Whether the action was already confirmed and this repeats the earlier answer. */
  readonly isRepeated: boolean
  /** Rejects with the error of the action. */
  readonly done: Promise<AgentActionView>
}

/** Changes proposed by the agent. Only the user they were proposed for can confirm them, once, until they expire. */
export interface ActionService {
  /** Throws `CONFLICT` when the user already has too many pending actions. */
  propose(action: ProposedAction, context: ActionContext): Promise<PendingActionView>
  /** The caller's actions, newest first. */
  list(query: ListActionsQuery, context: RequestContext): Promise<ListPage<AgentActionView>>
  /** Throws `NOT_FOUND`, also for an action of another user. */
  get(id: string, context: RequestContext): Promise<AgentActionView>
  /**
   * Runs the action with the caller's current role. Of several concurrent calls, one runs it. Throws `NOT_FOUND`,
   * `FORBIDDEN`, `CONFLICT` while it runs, `ACTION_NOT_PENDING` when it was dismissed, failed or expired.
   */
  confirm(id: string, context: RequestContext): Promise<ConfirmedAction>
  /** Ends the action without running it. Throws `NOT_FOUND`, `ACTION_NOT_PENDING`. */
  dismiss(id: string, context: RequestContext): Promise<AgentActionView>
  /** Marks actions as failed that were running in a process that is no longer alive. */
  settleAbandoned(): Promise<void>
}

/** How long an action stays pending. */
const LIFETIME_MS = 60 * 60 * 1000
/** Open actions per user. Stops a model that proposes without end. */
const MAX_OPEN = 100
const INTERRUPTED: ActionError = {
  code: 'SHUTTING_DOWN',
  message: 'the service stopped while the action ran: check the operations of the table for its outcome',
}

/** Actions in the state database. */
export function createActionService(deps: ActionServiceDeps): ActionService {
  const { store, now } = deps
  return {
    propose: (action, context) => propose(deps, action, context),
    async list({ state, ...query }, { caller }) {
      const page = keyPage('actions', query)
      const at = now()
      const openAt = state === 'pending' ? at.toISOString() : undefined
      const expiredAt = state === 'expired' ? at.toISOString() : undefined
      const stored = state === 'pending' || state === 'expired' ? undefined : state
      const rows = await store.list(caller.user, { state: stored, openAt, expiredAt }, page)
      return toListPage(rows, page.limit, { key: ({ id }) => id, view: (row) => toActionView(row, at) })
    },
    get: async (id, context) => toActionView(await find(deps, id, context), now()),
    confirm: (id, context) => confirm(deps, id, context),
    dismiss: (id, context) => dismiss(deps, id, context),
    async settleAbandoned() {
      for (const action of await store.running()) {
        if (action.instanceId === undefined || (await deps.instance.isAlive(action.instanceId))) continue
        await finish(deps, action, { outcome: { state: 'failed', error: INTERRUPTED }, context: undefined })
      }
    },
  }
}

async function propose(
  deps: ActionServiceDeps,
  proposed: ProposedAction,
  { chatId, ...context }: ActionContext,
): Promise<PendingActionView> {
  const now = deps.now()
  const action: ActionRecord = {
    ...proposed,
    id: deps.newId('act'),
    user: context.caller.user,
    state: 'pending',
    createdAt: now.toISOString(),
    expiresAt: new Date(now.getTime() + LIFETIME_MS).toISOString(),
    ...(chatId === undefined ? {} : { chatId }),
  }
  await deps.inTransaction(async (tx) => {
    const store = createAgentActionStore(tx)
    if ((await store.countOpen(action.user, action.createdAt)) >= MAX_OPEN) {
      const message = `${action.user} already has ${MAX_OPEN} pending actions: confirm or dismiss some`
      throw new DomainError('CONFLICT', message)
    }
    await store.insert(action)
    await record(deps, tx, { action, verb: 'propose', event: 'proposed', context })
  })
  return toPendingAction(action)
}

async function confirm(deps: ActionServiceDeps, id: string, context: RequestContext): Promise<ConfirmedAction> {
  const action = await find(deps, id, context)
  if (action.state === 'done') return repeated(deps, action)
  const tool = deps.findTool(action.tool)
  if (tool === undefined) throw notPending(`action ${id} uses a tool that no longer exists: ${action.tool}`)
  if (!hasRole(context.caller.role, tool.minRole)) {
    throw new DomainError('FORBIDDEN', `${action.tool} needs the role ${tool.minRole}`)
  }
  const now = deps.now().toISOString()
  const isClaimed = await deps.inTransaction(async (tx) => {
    if (!(await createAgentActionStore(tx).begin(id, now, deps.instance.id))) return false
    await record(deps, tx, { action, verb: 'confirm', event: 'confirmed', context, outcome: 'begun' })
    return true
  })
  if (!isClaimed) {
    const decided = await find(deps, id, context)
    if (decided.state === 'done') return repeated(deps, decided)
    throw refusal(decided, deps.now())
  }
  const running: ActionRecord = { ...action, state: 'running', decidedAt: now, instanceId: deps.instance.id }
  const done = run(deps, { action: running, tool, context })
  done.catch(() => undefined) // a route that answered 202 does not await it
  return { action: toActionView(running, deps.now()), isRepeated: false, done }
}

/** The second confirmation gets the answer of the first. */
function repeated({ now }: ActionServiceDeps, action: ActionRecord): ConfirmedAction {
  const view = toActionView(action, now())
  return { action: view, isRepeated: true, done: Promise.resolve(view) }
}

interface Confirmed {
  readonly action: ActionRecord
  readonly tool: ChangeTool
  readonly context: RequestContext
}

/** Runs the action through the same service as every other request, on behalf of the user who confirmed it. */
async function run(deps: ActionServiceDeps, { action, tool, context }: Confirmed): Promise<AgentActionView> {
  const { caller, requestId } = context
  // It continues when the client disconnects: operations are cancelled through their own route.
  const { signal } = new AbortController()
  let result: StoredJson
  try {
    await requireToolReach(tool, action.arguments, caller)
    const answer = await tool.apply(action.arguments, {
      caller,
      requestId,
      signal,
      channel: 'agent',
      services: deps.services(),
      chatId: action.chatId,
    })
    result = toStoredJson(answer)
  } catch (error) {
    await finish(deps, action, { outcome: { state: 'failed', error: describe(error) }, context })
    deps.audit.settled(error)
    throw error
  }
  return finish(deps, action, { outcome: { state: 'done', result }, context })
}

function describe(error: unknown): ActionError {
  if (error instanceof DomainError || isIcebergError(error)) {
    return { code: error.code, message: withoutPaths(error.message) }
  }
  const state = stateProblem(error)
  return state ? { code: state.code, message: state.detail } : { code: 'INTERNAL', message: 'an unexpected error' }
}

interface Finish {
  readonly outcome:
    | Omit<Extract<ActionOutcome, { state: 'done' }>, 'finishedAt'>
    | Omit<Extract<ActionOutcome, { state: 'failed' }>, 'finishedAt'>
  readonly context: RequestContext | undefined
}

async function finish(deps: ActionServiceDeps, action: ActionRecord, { outcome, context }: Finish) {
  const finishedAt = deps.now().toISOString()
  await deps.inTransaction(async (tx) => {
    if (!(await createAgentActionStore(tx).finish(action.id, { ...outcome, finishedAt }))) return
    const failed = outcome.state === 'failed'
    await record(deps, tx, {
      action,
      verb: 'confirm',
      event: failed ? 'failed' : 'done',
      context,
      outcome: failed ? 'failed' : 'done',
      ...(failed ? { code: outcome.error.code } : {}),
    })
  })
  return toActionView({ ...action, ...outcome, finishedAt }, deps.now())
}

async function dismiss(deps: ActionServiceDeps, id: string, context: RequestContext): Promise<AgentActionView> {
  const action = await find(deps, id, context)
  if (action.state === 'dismissed') return toActionView(action, deps.now())
  const now = deps.now().toISOString()
  const isClaimed = await deps.inTransaction(async (tx) => {
    if (!(await createAgentActionStore(tx).dismiss(id, now))) return false
    await record(deps, tx, { action, verb: 'dismiss', event: 'dismissed', context })
    return true
  })
  if (!isClaimed) throw refusal(await find(deps, id, context), deps.now())
  return toActionView({ ...action, state: 'dismissed', decidedAt: now, finishedAt: now }, deps.now())
}

/** Throws `NOT_FOUND`, also for an action of another user, whose existence is not revealed. */
async function find({ store }: ActionServiceDeps, id: string, { caller }: RequestContext): Promise<ActionRecord> {
  const action = await store.find(id)
  if (action?.user === caller.user) return action
  throw new DomainError('NOT_FOUND', `you have no action ${id}`)
}

/** Why an action cannot be decided now. */
function refusal(action: ActionRecord, now: Date): DomainError {
  const { id, expiresAt, error } = action
  const state = stateOf(action, now)
  if (state === 'running' || state === 'done') {
    const message = state === 'running' ? `action ${id} is running` : `action ${id} was already run`
    return state === 'running' ? new DomainError('CONFLICT', message, { retryAfterS: 1 }) : notPending(message)
  }
  if (state === 'expired') return notPending(`action ${id} expired at ${expiresAt}: request it again`)
  return notPending(`action ${id} is ${state}${error ? `: ${error.code}, ${error.message}` : ''}`)
}

function notPending(message: string): DomainError {
  return new DomainError('ACTION_NOT_PENDING', message)
}

interface Recorded {
  readonly action: ActionRecord
  readonly verb: 'propose' | 'confirm' | 'dismiss'
  readonly event: 'proposed' | 'confirmed' | 'done' | 'failed' | 'dismissed'
  /** Undefined: the service itself. */
  readonly context: RequestContext | undefined
  readonly outcome?: 'begun' | 'done' | 'failed'
  readonly code?: string
}

async function record({ audit, events }: ActionServiceDeps, tx: Tx, recorded: Recorded): Promise<void> {
  const { action, verb, event, context, outcome, code } = recorded
  const { id, tool, user, chatId } = action
  const { arguments: given } = action
  const subject = given['table'] ?? given['pipeline_id'] ?? given['definition_id'] ?? null
  const details = {
    tool,
    subject,
    chat_id: chatId ?? null,
    on_behalf_of: user,
    ...(code === undefined ? {} : { code }),
  }
  await audit.record(tx, {
    caller: context?.caller,
    requestId: context?.requestId,
    channel: context ? (verb === 'propose' ? 'agent' : context.channel) : 'system',
    action: `agent_action.${verb}`,
    objectType: 'agent_action',
    objectId: id,
    ...(outcome === undefined ? {} : { outcome }),
    details,
  })
  const type = `agent_action.${event}` as const
  await events.append(tx, { type, objectType: 'agent_action', objectId: id, data: { id, tool, subject, user } })
}
