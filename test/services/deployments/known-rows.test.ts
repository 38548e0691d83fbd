import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Place } from '../../support/lifecycle.ts'
import { until } from '../../support/waiting.ts'
import { type DeployLab, graphOf, openDeployLab } from './deploy-lab.ts'

let lab: DeployLab
beforeAll(async () => {
  lab = await openDeployLab()
})
afterAll(() => lab.close())

/** A version that has filled the sink in development, was stopped there, and is now in production. */
async function promoted(name: string): Promise<Place> {
  await lab.tables(name)
  const place = await lab.define(name)
  await lab.deploy(place)
  await lab.untilState(place, 'in_sync')
  await lab.untilCopied(name, 10)
  expect((await lab.change('undeploy', place)).status).toBe(200)
  await lab.untilState(place, 'none')
  await lab.users.bring(place, 'production')
  return place
}

/** A sink that a pipeline without a version has filled, and a definition in production with the same tables. */
async function filledByAnother(name: string): Promise<Place> {
  await lab.tables(name)
  const start = { checkpoint_location: `cp/${name}`, trigger_interval: '100 ms' }
  const { body } = await lab.lab.service.post('/api/pipeline/start', {
    source_table: `s.${name}_in`,
    sink_table: `s.${name}_out`,
    ...start,
  })
  await lab.untilCopied(name, 10)
  await lab.lab.service.post(`/api/pipeline/${body.pipeline.id}/stop`, {})
  const place = await lab.define(name)
  await lab.users.bring(place, 'production')
  return place
}

async function preview(place: Place, checkpoint?: string, environment: 'development' | 'production' = 'production') {
  const more = { dry_run: true, ...(checkpoint === undefined ? {} : { checkpoint }) }
  const { status, body } = await lab.deploy(place, environment, more)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

const twice = [...Array(10).keys()].flatMap((id) => [id, id])

describe('a deployment whose sink has rows of the sources', { timeout: 180_000 }, () => {
  it('reads on after the rows that the same definition has written in development', async () => {
    const place = await promoted('resumed')
    await lab.append('resumed', 10, 15)
    const { plan, plan_id: planId } = await preview(place)
    expect(plan).toMatchObject({
      would_run: { checkpoint: 'new' },
      sources: [{ starts: 'continues' }],
      problems: [],
      known_rows: { handling: 'resumed', rows: 10, source_tables: ['s.resumed_in'], can_resume: true },
    })
    expect(plan.consequences.join()).toContain('none is written again')
    expect((await lab.deploy(place, 'production', { plan_id: planId })).status).toBe(200)
    await lab.untilState(place, 'in_sync', 'production')
    await lab.untilCopied('resumed', 15)
    await lab.append('resumed', 15, 20)
    await lab.untilCopied('resumed', 20)
  })

  it('writes them again only when that is asked for, and says how many', async () => {
    const place = await promoted('again')
    const { plan, plan_id: planId } = await preview(place, 'fresh')
    expect(plan.known_rows).toMatchObject({ handling: 'repeated', rows: 10 })
    expect(plan.consequences.join()).toContain('up to 10 rows of s.again_in that s.again_out already has')
    const { status } = await lab.deploy(place, 'production', { checkpoint: 'fresh', plan_id: planId })
    expect(status).toBe(200)
    await until(async () => (await lab.idsIn('s.again_out')).length >= 20)
    expect(await lab.idsIn('s.again_out')).toEqual(twice)
  })

  it('is refused with the number when another pipeline has written them, until it is decided', async () => {
    const place = await filledByAnother('other')
    const { plan, plan_id: planId } = await preview(place)
    expect([plan.would_run, planId]).toEqual([null, undefined])
    expect(plan.known_rows).toMatchObject({ handling: 'blocked', rows: 10, can_resume: true })
    const { status, body } = await lab.deploy(place, 'production')
    expect([status, body.code], JSON.stringify(body)).toEqual([409, 'CONFLICT'])
    expect(body.detail).toContain('up to 10 rows of s.other_in')
    expect(await lab.idsIn('s.other_out')).toHaveLength(10)
    await lab.append('other', 10, 12)
    expect((await lab.deploy(place, 'production', { checkpoint: 'resume' })).status).toBe(200)
    await lab.untilState(place, 'in_sync', 'production')
    await lab.untilCopied('other', 12)
  })

  it('reads on in development after the rows that production has written meanwhile', async () => {
    const place = await promoted('back')
    await lab.append('back', 10, 15)
    await lab.deploy(place, 'production')
    await lab.untilState(place, 'in_sync', 'production')
    await lab.untilCopied('back', 15)
    expect((await lab.change('undeploy', place, 'production')).status).toBe(200)
    await lab.untilState(place, 'none', 'production')
    await lab.users.addVersion(place.definitionId, graphOf(['s.back_in'], 's.back_out'))
    const { plan } = await preview(place, undefined, 'development')
    expect(plan.known_rows).toMatchObject({ handling: 'resumed', rows: 15 })
    await lab.append('back', 15, 18)
    await lab.deploy(place)
    await lab.untilState(place, 'in_sync')
    await lab.untilCopied('back', 18)
  })

  it('says nothing of rows where the sink has none', async () => {
    await lab.tables('empty')
    const place = await lab.define('empty')
    const { plan } = await preview(place, undefined, 'development')
    expect(plan.known_rows).toBeNull()
  })
})
