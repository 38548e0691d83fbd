import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor, type Actor } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'
import { planOf, ROLES, type Step, steps, USERS } from './lifecycle-commands.ts'
import { LEGAL_EDGES, LifecycleModel } from './lifecycle-model.ts'
import { checkInvariants, claim, dump, type Dump, wipe } from './lifecycle-state.ts'
import { LONG, runs } from '../../support/effort.ts'

const CLIENTS = 8
const STEPS_PER_CLIENT = 60
/** Each run has 480 requests. */
const RUNS = runs(20, 4)
const RUNS_ON_POSTGRESQL = runs(5, 1)
const MEMORY = '/dev/shm'

/** Allowed answers for each kind of request when others run at the same time. */
const POSSIBLE: Readonly<Record<Step['kind'], readonly number[]>> = {
  create: [201, 403, 422],
  createVersion: [201, 403, 404, 422],
  update: [200, 403, 404, 409],
  delete: [204, 403, 404, 409],
  readDefinition: [200, 404],
  readVersion: [200, 404],
  export: [200, 404],
  move: [200, 202, 403, 404, 409],
  decide: [200, 400, 403, 404, 409],
  readRequest: [200, 403, 404],
  comment: [201, 403, 404],
  readComments: [200, 403, 404],
  list: [200],
  listRequests: [200, 403],
  notification: [200, 403],
}

interface Event {
  readonly type: string
  readonly object_id: string
  readonly data: Readonly<Record<string, string | number>>
}

for (const kind of stateKinds) {
  describe.skipIf(kind.skip)(`${CLIENTS} concurrent clients on ${kind.name}`, () => {
    let service: TestService
    let env: Readonly<Record<string, string>>
    const actors = new Map<string, Actor>()
    beforeAll(async () => {
      const place = await kind.place()
      env = place.env
      const parent = existsSync(MEMORY) ? { parent: MEMORY } : {}
      service = await startTestService({ env, onClose: place.remove, ...parent })
      for (const user of USERS)
        for (const role of ROLES) actors.set(`${user} ${role}`, await actor(service, user, role))
    })
    afterAll(() => service.close())

    it('keep every invariant, and their actions form one valid history', { ...LONG, timeout: 600_000 }, async () => {
      const db = stateOf(service.folder, env)
      const client = fc.array(steps, { minLength: STEPS_PER_CLIENT, maxLength: STEPS_PER_CLIENT })
      const clients = fc.array(client, { minLength: CLIENTS, maxLength: CLIENTS })
      const property = fc.asyncProperty(clients, async (lists) => {
        await wipe(db)
        const before = await dump(db)
        // All clients know all created ids, so that they act on the same versions and requests.
        const shared = new LifecycleModel(false)
        let succeeded = 0
        const act = async (list: readonly Step[]): Promise<void> => {
          for (const step of list) {
            const plan = planOf(step, shared)
            const { status, body } = await actors
              .get(`${step.by.user} ${step.by.role}`)!
              .call(plan.method, plan.path, plan.body)
            claim(POSSIBLE[step.kind].includes(status), `a possible answer to ${plan.method} ${plan.path}`, [
              status,
              body,
            ])
            if (plan.action !== undefined && status < 300) succeeded += 1
            remember(shared, step, { status, body })
          }
        }
        await Promise.all(lists.map(act))
        const after = await dump(db)
        checkInvariants(after)
        claim(after.events - before.events === succeeded, 'as many events as changes that were acknowledged', succeeded)
        await checkHistory(service, { since: before.events, before, after })
      })
      await fc.assert(property, { numRuns: kind.name === 'SQLite' ? RUNS : RUNS_ON_POSTGRESQL, endOnFailure: true })
      await db.destroy()
      expect((await service.get('/api/audit/verify')).body).toMatchObject({ ok: true })
    })
  })
}

/** Keeps ids only; the service knows the environments. */
function remember(
  shared: LifecycleModel,
  step: Step,
  { status, body }: { status: number; body: Record<string, never> },
): void {
  const graph = { name: '', good: true, nodes: [], edges: [] }
  if (step.kind === 'create' && status === 201) {
    const { definition, version } = body as unknown as Record<'definition' | 'version', { id: string }>
    shared.addDefinition(definition.id, '')
    shared.addVersion({ id: version.id, definitionId: definition.id, version: 1, environment: 'qa', graph })
  }
  if (step.kind === 'createVersion' && status === 201) {
    const {
      id,
      definition_id: definitionId,
      version,
    } = body as unknown as { id: string; definition_id: string; version: number }
    shared.addVersion({ id, definitionId, version, environment: 'qa', graph })
  }
  if (step.kind === 'move' && status === 202) shared.given.requests.push((body as unknown as { id: string }).id)
}

interface History {
  readonly since: number
  readonly before: Dump
  readonly after: Dump
}

/** Replays the event log: every event must be valid at its position, and the final state must match the database. */
async function checkHistory(service: TestService, { since, before, after }: History): Promise<void> {
  const places = new Map(before.versions.map((version) => [String(version['id']), String(version['environment'])]))
  const owners = new Map(before.versions.map((version) => [String(version['id']), String(version['definition_id'])]))
  const requests = new Map(
    before.requests.map((request) => [
      String(request['id']),
      { status: String(request['status']), version: String(request['version_id']) },
    ]),
  )
  const numbers = new Map(
    before.definitions.map(({ id }) => [String(id), [...owners.values()].filter((owner) => owner === id).length]),
  )
  const move = (version: string, from: string | number = '', to: string | number = ''): void => {
    claim(places.get(version) === from && LEGAL_EDGES.has(`${from} ${to}`), 'a legal move', [
      version,
      places.get(version),
      from,
      to,
    ])
    places.set(version, String(to))
  }
  for await (const { type, object_id: id, data } of eventsSince(service, since)) {
    if (type === 'definition.created') {
      numbers.set(id, 1)
      places.set(String(data['version_id']), 'development')
      owners.set(String(data['version_id']), id)
    } else if (type === 'version.created') {
      const definition = String(data['definition_id'])
      const next = (numbers.get(definition) ?? Number.NaN) + 1
      claim(data['version'] === next, `the next number of ${definition}`, [next, data])
      numbers.set(definition, next)
      places.set(id, 'development')
      owners.set(id, definition)
    } else if (type === 'version.moved') {
      claim(
        ![...requests.values()].some((request) => request.version === id && request.status === 'pending'),
        'no move past a request',
        id,
      )
      move(id, data['from_environment'], data['to_environment'])
    } else if (type === 'approval.requested') {
      const version = String(data['version_id'])
      claim(places.get(version) === data['from_environment'], 'a request from where the version is', data)
      claim(
        ![...requests.values()].some((request) => request.version === version && request.status === 'pending'),
        'one at a time',
        data,
      )
      requests.set(id, { status: 'pending', version })
    } else if (/^approval\.(approved|rejected|withdrawn)$/.test(type)) {
      const request = requests.get(id)
      claim(request?.status === 'pending', 'one decision for each request', [id, request])
      const status = type === 'approval.approved' ? 'approved' : 'rejected'
      requests.set(id, { status, version: String(data['version_id']) })
      if (status === 'approved') move(String(data['version_id']), data['from_environment'], data['to_environment'])
    } else if (type === 'definition.updated' || type === 'definition.deleted') {
      const versions = [...owners].filter(([, owner]) => owner === id).map(([version]) => version)
      claim(
        numbers.has(id) && versions.every((version) => /^(development|qa)$/.test(places.get(version) ?? '')),
        'only what is open',
        id,
      )
      if (type === 'definition.deleted') {
        for (const version of versions) {
          places.delete(version)
          owners.delete(version)
          for (const [request, { version: of }] of requests) if (of === version) requests.delete(request)
        }
        numbers.delete(id)
      }
    }
  }
  const end = (rows: readonly (readonly [string, string])[]): string => JSON.stringify([...rows].sort())
  claim(
    end([...places]) === end(after.versions.map((row) => [String(row['id']), String(row['environment'])])),
    'the end of the history',
    [],
  )
  const decided = [...requests].map(([id, { status }]) => [id, status] as const)
  claim(
    end(decided) === end(after.requests.map((row) => [String(row['id']), String(row['status'])])),
    'the decisions',
    [],
  )
}

async function* eventsSince(service: TestService, since: number): AsyncGenerator<Event> {
  for (let last = since; ;) {
    const { body } = await service.get(`/api/events?since=${last}&limit=1000`)
    yield* body.events as Event[]
    if (body.last_seq === last) return
    last = body.last_seq
  }
}
