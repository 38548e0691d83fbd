import fc from 'fast-check'
import type { Kysely } from 'kysely'
import type { StateTables } from '../../../src/storage/schema.ts'
import type { Answer } from '../../support/service.ts'
import {
  type Caller,
  type Expected,
  type Graph,
  type LifecycleModel,
  type Move,
  refuse,
  type Role,
} from './lifecycle-model.ts'
import { checkChange, checkInvariants, checkModel, claim, dump, type Dump } from './lifecycle-state.ts'

export const USERS = ['u0', 'u1', 'u2', 'u3', 'u4'] as const
export const ROLES: readonly Role[] = ['Auditor', 'DataEngineer', 'LeadDataEngineer']

const node = (id: string, x = 0) => ({ id, type: 'step', config: { x }, position: { x, y: 0 } })
const edge = (id: string, source: string, target: string) => ({ id, source, target })

/** Pipeline graphs of versions. The last one is invalid. */
export const GRAPHS: readonly Graph[] = [
  { name: 'empty', good: true, nodes: [], edges: [] },
  { name: 'one', good: true, nodes: [node('a')], edges: [] },
  { name: 'two', good: true, nodes: [node('a'), node('b')], edges: [edge('e', 'a', 'b')] },
  { name: 'moved', good: true, nodes: [node('a', 1), node('b', 2)], edges: [edge('e', 'a', 'b')] },
  { name: 'cycle', good: false, nodes: [node('a'), node('b')], edges: [edge('e', 'a', 'b'), edge('f', 'b', 'a')] },
]

/** One request. `pick` selects one of the ids created so far, counted from the newest. */
export type Step = { readonly by: Caller } & (
  | { readonly kind: 'create'; readonly graph: Graph; readonly format: number | undefined }
  | { readonly kind: 'update' | 'delete' | 'readDefinition'; readonly pick: number }
  | { readonly kind: 'createVersion'; readonly pick: number; readonly graph: Graph }
  | { readonly kind: 'readVersion' | 'export'; readonly pick: number }
  | { readonly kind: 'move'; readonly pick: number; readonly move: Move }
  | { readonly kind: 'decide'; readonly pick: number; readonly verdict: Verdict; readonly words: string | undefined }
  | { readonly kind: 'readRequest' | 'comment' | 'readComments'; readonly pick: number }
  | { readonly kind: 'list'; readonly environment: string }
  | { readonly kind: 'listRequests'; readonly status: string }
  | { readonly kind: 'notification' }
)

type Verdict = 'approve' | 'reject' | 'withdraw'

const pick = fc.oneof({ weight: 4, arbitrary: fc.nat({ max: 2 }) }, { weight: 1, arbitrary: fc.nat({ max: 40 }) })
const graph = fc.constantFrom(...GRAPHS)
const by: fc.Arbitrary<Caller> = fc.record({
  user: fc.constantFrom(...USERS),
  role: fc.constantFrom<Role>(
    'Auditor',
    'DataEngineer',
    'DataEngineer',
    'LeadDataEngineer',
    'LeadDataEngineer',
    'LeadDataEngineer',
  ),
})
const kind = <K extends string>(...kinds: K[]) => fc.constantFrom(...kinds)
const words = fc.option(fc.constantFrom('fine', 'too early', '  '), { nil: undefined })

/** Any possible request; those that move something are more frequent. */
export const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ by, kind: kind('create'), graph, format: fc.constantFrom(undefined, undefined, 1, 2) }),
  },
  { weight: 4, arbitrary: fc.record({ by, kind: kind('createVersion'), pick, graph }) },
  { weight: 3, arbitrary: fc.record({ by, kind: kind('update', 'delete', 'readDefinition'), pick }) },
  { weight: 2, arbitrary: fc.record({ by, kind: kind('readVersion', 'export'), pick }) },
  {
    weight: 14,
    arbitrary: fc.record({
      by,
      kind: kind('move'),
      pick,
      move: fc.constantFrom<Move>('promote', 'promote', 'promote', 'demote', 'retire'),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      by,
      kind: kind('decide'),
      pick,
      verdict: fc.constantFrom<Verdict>('approve', 'approve', 'reject', 'withdraw'),
      words,
    }),
  },
  { weight: 4, arbitrary: fc.record({ by, kind: kind('readRequest', 'comment', 'readComments'), pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      by,
      kind: kind('list'),
      environment: fc.constantFrom('', 'development', 'qa', 'uat', 'production', 'retired'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      by,
      kind: kind('listRequests'),
      status: fc.constantFrom('', 'pending', 'approved', 'rejected'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ by, kind: kind('notification') }) },
)

/** The service as used by the commands. */
export interface Real {
  call(by: Caller, request: Request): Promise<Answer>
  readonly db: Kysely<StateTables>
  /** The state after the last command. */
  state: Dump
  /** The number of commands so far. */
  onStep(): void
}

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
}

/** A step: the request, the expected outcome, and the change of the model on success. */
export interface Plan extends Request {
  readonly minimum: Role
  /** Checked only when the caller's role allows the request. */
  readonly expected: Expected
  /** Action of the audit entry on success; undefined for reads. */
  readonly action?: string
  readonly follow?: (answer: Answer) => void
}

/** A step as a command: afterwards the answer, the database and the audit log must match the model. */
export class StepCommand implements fc.AsyncCommand<LifecycleModel, Real> {
  readonly #step: Step

  constructor(step: Step) {
    this.#step = step
  }

  check(): boolean {
    return true
  }

  async run(model: LifecycleModel, real: Real): Promise<void> {
    const { by: caller } = this.#step
    const plan = planOf(this.#step, model)
    const expected = model.mayCall(caller, plan.minimum) ? plan.expected : refuse(403, 'FORBIDDEN')
    const answer = await real.call(caller, plan)
    claim(
      answer.status === expected.status,
      `${plan.method} ${plan.path} is ${expected.status} ${expected.code ?? ''}`,
      answer,
    )
    if (expected.code !== undefined)
      claim(answer.body.code === expected.code, `the refusal is ${expected.code}`, answer.body)
    else plan.follow?.(answer)
    const before = real.state
    real.state = await dump(real.db)
    checkInvariants(real.state)
    checkChange(before, real.state)
    checkModel(model, real.state)
    checkTrail({ before, after: real.state, plan, refused: expected.code !== undefined })
    real.onStep()
  }

  toString(): string {
    return JSON.stringify({ ...this.#step, ...('graph' in this.#step ? { graph: this.#step.graph.name } : {}) })
  }
}

interface Trail {
  readonly before: Dump
  readonly after: Dump
  readonly plan: Plan
  readonly refused: boolean
}

/** One audit entry per change, per refused change and per caller without the role; one event per change. */
function checkTrail({ before, after, plan, refused }: Trail): void {
  const events = after.events - before.events
  claim(events === (plan.action === undefined || refused ? 0 : 1), 'one event per change', [plan, events])
  const audit = after.audit - before.audit
  if (!refused) claim(audit === (plan.action === undefined ? 0 : 1), 'one audit entry per change', [plan, audit])
  else if (plan.method !== 'GET') claim(audit === 1, 'one audit entry per refusal', [plan, audit])
}

const DEFS = '/api/pipeline-defs'
const GONE = { definition: 'def-none', version: 'ver-none', request: 'pr-none' }

/** The step of a request in this state. */
export function planOf(step: Step, model: LifecycleModel): Plan {
  switch (step.kind) {
    case 'create':
      return planCreate(step, model)
    case 'createVersion':
      return planCreateVersion(step, model)
    case 'update':
    case 'delete':
    case 'readDefinition':
      return planDefinition(step, model)
    case 'readVersion':
    case 'export':
      return planReadVersion(step, model)
    case 'move':
      return planMove(step, model)
    case 'decide':
      return planDecide(step, model)
    case 'readRequest':
    case 'comment':
    case 'readComments':
      return planRequest(step, model)
    default:
      return planList(step, model)
  }
}

type StepOf<K extends Step['kind']> = Extract<Step, { kind: K }>

const newest = <T>(items: readonly T[], n: number): T | undefined => items.at(-1 - (n % Math.max(1, items.length)))

function planCreate({ graph: { nodes, edges, good, name }, format }: StepOf<'create'>, model: LifecycleModel): Plan {
  const imported = format === undefined ? {} : { format_version: format, version: 7, exported_at: 'then' }
  const tooNew = format !== undefined && format > 1
  const bad = tooNew ? refuse(422, 'UNSUPPORTED_FORMAT_VERSION') : refuse(422, 'INVALID_GRAPH')
  return {
    method: 'POST',
    path: format === undefined ? DEFS : `${DEFS}/import`,
    body: { name, nodes, edges, ...imported },
    minimum: 'DataEngineer',
    expected: tooNew || !good ? bad : { status: 201 },
    action: 'definition.create',
    follow({ body: { definition, version } }) {
      claim(version.version === 1 && version.environment === 'development', 'version 1 in development', version)
      model.addDefinition(definition.id, name)
      const graph = { name, good, nodes, edges }
      model.addVersion({ id: version.id, definitionId: definition.id, version: 1, environment: 'development', graph })
    },
  }
}

function planCreateVersion({ pick: n, graph }: StepOf<'createVersion'>, model: LifecycleModel): Plan {
  const definitionId = newest(model.given.definitions, n) ?? GONE.definition
  const { nodes, edges } = graph
  const exists = model.definitions.has(definitionId)
  const version = model.versionsOf(definitionId).length + 1
  return {
    method: 'POST',
    path: `${DEFS}/${definitionId}/versions`,
    body: { nodes, edges },
    minimum: 'DataEngineer',
    expected: !graph.good ? refuse(422, 'INVALID_GRAPH') : exists ? { status: 201 } : refuse(404, 'NOT_FOUND'),
    action: 'version.create',
    follow({ body }) {
      claim(body.version === version, `the next number is ${version}`, body)
      model.addVersion({ id: body.id, definitionId, version, environment: 'development', graph })
    },
  }
}

function planDefinition(
  { kind: what, pick: n, by: { user } }: StepOf<'update' | 'delete' | 'readDefinition'>,
  model: LifecycleModel,
): Plan {
  const id = newest(model.given.definitions, n) ?? GONE.definition
  const definition = model.definitions.get(id)
  const path = `${DEFS}/${id}`
  const found = definition ? { status: 200 } : refuse(404, 'NOT_FOUND')
  if (what === 'readDefinition') {
    return {
      method: 'GET',
      path,
      minimum: 'Auditor',
      expected: found,
      follow: ({ body }) => checkLatest(model, id, body),
    }
  }
  const locked = refuse(409, 'DEFINITION_LOCKED')
  if (what === 'update') {
    const name = `renamed by ${user}`
    return {
      method: 'PUT',
      path,
      body: { name },
      minimum: 'DataEngineer',
      expected: definition && model.isLocked(id) ? locked : found,
      action: 'definition.update',
      follow: () => void (definition && (definition.name = name)),
    }
  }
  return {
    method: 'DELETE',
    path,
    minimum: 'DataEngineer',
    expected: !definition ? found : model.isLocked(id) ? locked : { status: 204 },
    action: 'definition.delete',
    follow: () => model.deleteDefinition(id),
  }
}

function checkLatest(model: LifecycleModel, id: string, body: Answer['body']): void {
  const expected = new Map(
    model
      .versionsOf(id)
      .toSorted((a, b) => a.version - b.version)
      .map((version) => [version.environment, version.id]),
  )
  const shown = Object.entries<{ id: string }>(body.latest_versions).map(([name, version]) => [name, version.id])
  claim(body.name === model.definitions.get(id)?.name, 'the name', body)
  claim(
    shown.length === expected.size && shown.every(([name, version]) => expected.get(name!) === version),
    'the latest versions',
    body,
  )
}

function planReadVersion({ kind: what, pick: n }: StepOf<'readVersion' | 'export'>, model: LifecycleModel): Plan {
  const [definitionId, id] = newest(model.given.versions, n) ?? [GONE.definition, GONE.version]
  const version = model.versions.get(id)
  return {
    method: 'GET',
    path: `${DEFS}/${definitionId}/versions/${id}${what === 'export' ? '/export' : ''}`,
    minimum: 'Auditor',
    expected: version ? { status: 200 } : refuse(404, 'NOT_FOUND'),
    follow({ body }) {
      const { nodes, edges } = version?.graph ?? {}
      claim(
        JSON.stringify([body.nodes, body.edges]) === JSON.stringify([nodes, edges]),
        'the content that was given',
        body,
      )
      claim(body.version === version?.version, 'the number', body)
      if (what === 'readVersion') claim(body.environment === version?.environment, 'the environment', body)
    },
  }
}

function planMove({ pick: n, move, by: { user } }: StepOf<'move'>, model: LifecycleModel): Plan {
  const [definitionId, id] = newest(model.given.versions, n) ?? [GONE.definition, GONE.version]
  const version = model.versions.get(id)
  const step = version && model.step(version.environment, move)
  const [to, approval] = step ?? ['', false]
  return {
    method: 'POST',
    path: `${DEFS}/${definitionId}/versions/${id}/${move}`,
    minimum: move === 'promote' ? 'DataEngineer' : 'LeadDataEngineer',
    expected: expectedMove(model, id, move),
    action: approval ? 'approval.request' : `version.${move}`,
    follow({ body }) {
      if (!version) return
      if (!approval) {
        claim(body.environment === to, `moved to ${to}`, body)
        version.environment = to
        return
      }
      const { environment: from } = version
      claim(
        body.from_environment === from && body.to_environment === to && body.status === 'pending',
        'a request',
        body,
      )
      const undecided = { status: 'pending', decidedBy: null, reason: null, comments: [], snapshot: undefined }
      model.addRequest({ id: body.id, definitionId, versionId: id, from, to, requestedBy: user, ...undecided })
    },
  }
}

function expectedMove(model: LifecycleModel, versionId: string, move: Move): Expected {
  const version = model.versions.get(versionId)
  if (!version) return refuse(404, 'NOT_FOUND')
  if (model.pendingOf(versionId)) return refuse(409, 'APPROVAL_PENDING')
  const step = model.step(version.environment, move)
  if (!step) return refuse(409, 'INVALID_TRANSITION')
  return { status: step[1] ? 202 : 200 }
}

function planDecide({ pick: n, verdict, words: said, by: { user } }: StepOf<'decide'>, model: LifecycleModel): Plan {
  const id = newest(model.given.requests, n) ?? GONE.request
  const request = model.requests.get(id)
  const field = verdict === 'reject' ? 'reason' : 'comment'
  const body = { body: said === undefined ? {} : { [field]: said } }
  return {
    method: verdict === 'withdraw' ? 'DELETE' : 'POST',
    path: `/api/approvals/${id}${verdict === 'withdraw' ? '' : `/${verdict}`}`,
    ...(verdict === 'withdraw' ? {} : body),
    minimum: verdict === 'withdraw' ? 'DataEngineer' : 'LeadDataEngineer',
    expected: expectedDecision({ model, id, verdict, said, user }),
    action: `approval.${verdict}`,
    follow() {
      if (!request) return
      request.status = verdict === 'approve' ? 'approved' : 'rejected'
      request.decidedBy = user
      request.reason = verdict === 'approve' ? null : verdict === 'withdraw' ? 'withdrawn' : (said ?? null)
      if (verdict !== 'withdraw' && said !== undefined) request.comments.push(said)
      const version = model.versions.get(request.versionId)
      if (verdict === 'approve' && version) version.environment = request.to
    },
  }
}

interface DecisionCase {
  readonly model: LifecycleModel
  readonly id: string
  readonly verdict: Verdict
  readonly said: string | undefined
  readonly user: string
}

function expectedDecision({ model, id, verdict, said, user }: DecisionCase): Expected {
  const blank = said !== undefined && said.trim() === ''
  if (verdict !== 'withdraw' && (blank || (verdict === 'reject' && said === undefined)))
    return refuse(400, 'INVALID_REQUEST')
  const request = model.requests.get(id)
  if (!request) return refuse(404, 'NOT_FOUND')
  if (verdict === 'withdraw' && request.requestedBy !== user) return refuse(403, 'FORBIDDEN')
  if (verdict !== 'withdraw' && model.forbidSelf && request.requestedBy === user) return refuse(403, 'SELF_APPROVAL')
  return request.status === 'pending' ? { status: 200 } : refuse(409, 'APPROVAL_NOT_PENDING')
}

function planRequest(
  { kind: what, pick: n, by: { user } }: StepOf<'readRequest' | 'comment' | 'readComments'>,
  model: LifecycleModel,
): Plan {
  const id = newest(model.given.requests, n) ?? GONE.request
  const request = model.requests.get(id)
  const path = `/api/approvals/${id}`
  const found = request ? { status: 200 } : refuse(404, 'NOT_FOUND')
  if (what === 'comment') {
    const comment = `a comment of ${user}`
    return {
      method: 'POST',
      path: `${path}/comments`,
      body: { comment },
      minimum: 'DataEngineer',
      expected: request ? { status: 201 } : found,
      action: 'approval.comment',
      follow: () => void request?.comments.push(comment),
    }
  }
  if (what === 'readComments') {
    const follow = ({ body }: Answer): void => {
      const shown = body.map(({ comment }: { comment: string }) => comment)
      claim(JSON.stringify(shown) === JSON.stringify(request?.comments), 'the comments', body)
    }
    return { method: 'GET', path: `${path}/comments`, minimum: 'DataEngineer', expected: found, follow }
  }
  const follow = ({ body }: Answer): void => {
    const version = model.versions.get(request?.versionId ?? '')
    claim(body.status === request?.status && body.reason === request?.reason, 'status and reason', body)
    const { version_snapshot: snapshot } = body
    claim(snapshot.environment === request?.from && snapshot.id === version?.id, 'the version as it was', snapshot)
    claim(JSON.stringify(snapshot.nodes) === JSON.stringify(version?.graph.nodes), 'the content as it was', snapshot)
    claim(body.diff.from?.id !== snapshot.id, 'compared with another version', body.diff)
  }
  return { method: 'GET', path, minimum: 'LeadDataEngineer', expected: found, follow }
}

function planList(step: StepOf<'list' | 'listRequests' | 'notification'>, model: LifecycleModel): Plan {
  const idsOf = (items: readonly { id: string }[]): string => JSON.stringify(items.map(({ id }) => id).sort())
  const requests = [...model.requests.values()]
  if (step.kind === 'list') {
    const { environment } = step
    const isThere = ({ id }: { id: string }): boolean =>
      model.versionsOf(id).some((version) => version.environment === environment)
    const expected = [...model.definitions.values()].filter((definition) => environment === '' || isThere(definition))
    const path = `${DEFS}${environment && `?environment=${environment}`}`
    const follow = ({ body }: Answer): void => claim(idsOf(body) === idsOf(expected), 'the definitions there', body)
    return { method: 'GET', path, minimum: 'Auditor', expected: { status: 200 }, follow }
  }
  if (step.kind === 'listRequests') {
    const { status } = step
    const expected = requests.filter((request) => status === '' || request.status === status)
    const path = `/api/approvals${status && `?status=${status}`}`
    const follow = ({ body }: Answer): void => claim(idsOf(body) === idsOf(expected), 'the requests', body)
    return { method: 'GET', path, minimum: 'LeadDataEngineer', expected: { status: 200 }, follow }
  }
  const pending = requests.filter(({ status }) => status === 'pending')
  const follow = ({ body }: Answer): void => {
    claim(body.count === pending.length && idsOf(body.requests) === idsOf(pending), 'the pending requests', body)
  }
  const path = '/api/notifications/pending-approvals'
  return { method: 'GET', path, minimum: 'LeadDataEngineer', expected: { status: 200 }, follow }
}
