import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor, type Actor } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { stateOf } from '../../support/state-of.ts'
import { GRAPHS, type Real, ROLES, type Step, StepCommand, steps, USERS } from './lifecycle-commands.ts'
import { type Caller, LifecycleModel } from './lifecycle-model.ts'
import { dump, wipe } from './lifecycle-state.ts'
import { runs } from '../../support/effort.ts'

/** PostgreSQL runs fewer of the same commands. */
const STEPS = Number(process.env['LOCKHOUSE_MODEL_STEPS'] ?? runs(10_000, 600))
const STEPS_ON_POSTGRES = Math.ceil(STEPS / 30)
const COMMANDS_PER_RUN = 100
const requester: Caller = { user: 'u0', role: 'DataEngineer' }
const lead: Caller = { user: 'u1', role: 'LeadDataEngineer' }
const promote: Step = { kind: 'move', by: requester, pick: 0, move: 'promote' }
const approve: Step = { kind: 'decide', by: lead, pick: 0, verdict: 'approve', words: undefined }
/** The complete path of a version. A run starts somewhere on it, because random requests alone rarely get far. */
const WAY: readonly Step[] = [
  { kind: 'create', by: requester, graph: GRAPHS[2]!, format: undefined },
  promote,
  promote,
  approve,
  promote,
  approve,
  { kind: 'move', by: lead, pick: 0, move: 'retire' },
]
/** These tests check the rules, not the disk. */
const MEMORY = '/dev/shm'

interface World {
  readonly service: TestService
  readonly real: Real
  close(): Promise<void>
}

async function openWorld(kind: (typeof stateKinds)[number], forbidSelf: boolean, onStep: () => void): Promise<World> {
  const place = await kind.place()
  const service = await startTestService({
    env: { ...place.env, APPROVALS_FORBID_SELF: String(forbidSelf) },
    onClose: place.remove,
    ...(existsSync(MEMORY) ? { parent: MEMORY } : {}),
  })
  const actors = new Map<string, Actor>()
  for (const user of USERS) for (const role of ROLES) actors.set(`${user} ${role}`, await actor(service, user, role))
  const db = stateOf(service.folder, place.env)
  const real: Real = {
    call: ({ user, role }: Caller, { method, path, body }) => actors.get(`${user} ${role}`)!.call(method, path, body),
    db,
    state: await dump(db),
    onStep,
  }
  return {
    service,
    real,
    async close() {
      await db.destroy()
      await service.close()
    },
  }
}

for (const kind of stateKinds) {
  describe.skipIf(kind.skip)(`the life cycle of definitions, versions and approvals on ${kind.name}`, () => {
    const wanted = kind.name === 'SQLite' ? STEPS : STEPS_ON_POSTGRES
    const done = { steps: 0 }
    const worlds: World[] = []
    beforeAll(async () => {
      for (const forbidSelf of [false, true]) worlds.push(await openWorld(kind, forbidSelf, () => (done.steps += 1)))
    })
    afterAll(async () => {
      for (const world of worlds) await world.close()
    })

    it(
      `matches the model after each of ${wanted} random requests of 5 users in 3 roles`,
      { timeout: 900_000 },
      async () => {
        const commands = fc.commands([steps.map((step) => new StepCommand(step))], {
          maxCommands: COMMANDS_PER_RUN,
          size: 'max',
        })
        for (let round = 0; done.steps < wanted; round++) {
          const forbidSelf = round % 2 === 1
          const { real } = worlds[round % 2]!
          const property = fc.asyncProperty(fc.nat({ max: WAY.length }), commands, async (head, run) => {
            await wipe(real.db)
            real.state = await dump(real.db)
            const model = new LifecycleModel(forbidSelf)
            for (const step of WAY.slice(0, head)) await new StepCommand(step).run(model, real)
            await fc.asyncModelRun(() => ({ model, real }), run)
          })
          await fc.assert(property, { numRuns: 10 })
        }
        expect(done.steps).toBeGreaterThanOrEqual(wanted)
        for (const { service } of worlds) {
          const { body } = await service.get('/api/audit/verify')
          expect(body).toMatchObject({ ok: true })
        }
      },
    )
  })
}
