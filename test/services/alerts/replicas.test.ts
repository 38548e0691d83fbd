import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'
import { stateKinds } from '../../support/state/state-kinds.ts'
import { sleep } from '../../support/waiting.ts'
import { type AlertLab, type Happening, openAlertLab } from './alert-lab.ts'

const postgres = stateKinds.find(({ name }) => name === 'PostgreSQL')
const EVENTS = 40

const table = (type: Happening['type'], at: number): Happening => ({
  type,
  objectType: 'table',
  objectId: `s.t${at}`,
  data: { table: `s.t${at}` },
})

/** Two services, each with its own home, on one PostgreSQL database. */
describe.skipIf(postgres?.skip !== false)('alerts of two replicas', () => {
  let lab: AlertLab
  let other: TestService
  beforeEach(async () => {
    const { env, remove } = await postgres!.place()
    const shared = { ...env, AUDIT_KEY: 'a key that both replicas know, of 32 characters or more' }
    lab = await openAlertLab(shared, { onClose: remove })
    other = await startTestService({
      env: { ...shared, WEBHOOK_ALLOW_PRIVATE: 'true' },
      overrides: { deliveryRetryDelaysMs: [30, 30, 30] },
    })
  })
  afterEach(async () => {
    await other.close()
    await lab.close()
  })

  /** Events, and a commit in each replica, so that both look for them at the same time. */
  async function happen(...events: readonly Happening[]): Promise<void> {
    const waking = () => other.post('/api/auth/tokens', { user: 'waker', role: 'Auditor', name: 'x' })
    await Promise.all([lab.happen(...events), waking(), waking()])
    await waking()
  }

  it('send each notification once, whichever of them evaluates and sends it', async () => {
    const id = await lab.create({ events: ['table.unhealthy'] })
    for (let at = 0; at < EVENTS; at += 4) {
      await happen(...[at, at + 1, at + 2, at + 3].map((each) => table('table.unhealthy', each)))
    }
    const all = await lab.settled(id, EVENTS)
    expect(all.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(all.map(() => 'delivered 1'))
    await sleep(300)
    const told = lab.receiver.received.map(({ body }) => JSON.parse(body).object_id)
    expect(told.sort()).toEqual(Array.from({ length: EVENTS }, (_, at) => `s.t${at}`).sort())
  })

  it('notify once of a condition that lasts, and of none that ends', async () => {
    const id = await lab.create({ events: ['table.unhealthy'], for: '8 seconds' })
    await happen(...[0, 1, 2, 3].map((at) => table('table.unhealthy', at)))
    await happen(table('table.healthy', 0), table('table.healthy', 1))
    await lab.settled(id, 2)
    await sleep(1000)
    const told = lab.receiver.received.map(({ body }) => JSON.parse(body).object_id)
    expect(told.sort()).toEqual(['s.t2', 's.t3'])
  })
})
