import { mkdirSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAST, numbered } from '../../streaming/support.ts'
import { LONG } from '../../support/effort.ts'
import type { Place } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab, QUICK } from './deploy-lab.ts'
import { phaseHooks } from './phase-hooks.ts'

let lab: DeployLab
const { before, wrapTransactions } = phaseHooks(() => lab)
beforeAll(async () => {
  lab = await openDeployLab({ overrides: { streaming: FAST, deployments: { ...QUICK, wrapTransactions } } })
})
afterAll(() => lab.close())

const BAD = "error('bad row') IS NULL"

/** A definition that is deployed and has copied its rows. */
async function deployed(name: string): Promise<Place> {
  await lab.tables(name)
  const place = await lab.define(name)
  await lab.deploy(place)
  await lab.untilState(place, 'in_sync')
  await lab.untilCopied(name, 10)
  return place
}

/** Gives the rollout in progress to another process, which has ended; returns how many rollouts it got. */
function giveAway(): number {
  const database = new DatabaseSync(`${lab.lab.service.folder}/home/state.db`, { timeout: 5000 })
  const give = 'UPDATE deployments SET lease_owner = 999, lease_until_ms = ? WHERE rollout_json IS NOT NULL'
  const { changes } = database.prepare(give).run(Date.now() + 3_600_000)
  database.close()
  return Number(changes)
}

async function ended(place: Place) {
  return until(async () => {
    const now = await lab.deploymentOf(place)
    return now.rollout === null && now
  })
}

describe('a rollout that another process had', LONG, () => {
  it.each(['starting', 'withdrawing', 'validating', 'stopping', 'watching', 'restoring'])(
    'while %s is taken over: every row once',
    { timeout: 180_000 },
    async (phase) => {
      const one = await deployed(`taken_${phase}`)
      const isUndone = phase === 'withdrawing' || phase === 'restoring'
      const name = `taken_${phase}`
      const where = isUndone ? BAD : 'id > -1'
      const two = await lab.users.addVersion(one.definitionId, graphOf([`s.${name}_in`], `s.${name}_out`, where))
      let given = 0
      before[phase] = async () => void (given = giveAway())
      const endWriting = lab.writeOn(name, 10)
      await lab.deploy(one)
      const now = await ended(one)
      expect(given).toBe(1)
      expect([now.state, now.running_version_id], JSON.stringify(now)).toEqual(
        isUndone ? ['rolled_back', one.versionId] : ['in_sync', two.versionId],
      )
      await lab.untilCopied(name, await endWriting())
      const { body } = await lab.lab.service.get(`${one.definition}/deployments`)
      expect(body.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
        isUndone ? 'rolled_back' : 'succeeded',
        'succeeded',
      ])
    },
  )
})

describe('another catalog that is configured during a rollout', { ...LONG, timeout: 180_000 }, () => {
  it('with other tables of the same names: they get no rows, and the deployment continues in the first catalog', async () => {
    const one = await deployed('switched')
    const two = await lab.users.addVersion(one.definitionId, graphOf(['s.switched_in'], 's.switched_out', 'id > -1'))
    const { service } = lab.lab
    const { body: first } = await service.get('/api/config')
    const folder = `${service.folder}/elsewhere`
    mkdirSync(`${folder}/warehouse`, { recursive: true })
    const configure = async (settings: object): Promise<void> => {
      const { status, body } = await service.call('PUT', '/api/config', { body: settings })
      expect(status, JSON.stringify(body)).toBe(200)
    }
    before['starting'] = async () => {
      await configure({ catalog_type: 'hadoop', catalog_name: 'elsewhere', warehouse: `file://${folder}/warehouse` })
      await lab.lab.catalog().createNamespace(['s'])
      await lab.tables('switched', 0)
      await lab.lab.append('s.switched_in', numbered(100, 105))
    }
    await lab.append('switched', 10, 15)
    await lab.deploy(one)
    const now = await ended(one)
    expect(now.running_version_id, JSON.stringify(now)).not.toBe(two.versionId)
    expect(await lab.idsIn('s.switched_out')).toEqual([])
    const { catalog_type, catalog_name, warehouse, uri, extra_props } = first
    await configure({ catalog_type, catalog_name, warehouse, uri, extra_props })
    await lab.deploy(one)
    expect(await lab.untilState(one, 'in_sync')).toMatchObject({ running_version_id: two.versionId })
    await lab.untilCopied('switched', 15)
  })
})
