import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { changeImpact } from '../../../src/schemas/lineage.ts'
import { graphOf } from '../../services/deployments/deploy-lab.ts'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { type Lifecycle, lifecycle } from '../../support/lifecycle.ts'

type Impact = z.infer<typeof changeImpact>

let lab: StreamLab
let life: Lifecycle
beforeAll(async () => {
  lab = await openLab()
  life = await lifecycle(lab.service)
  for (const name of ['s.from', 's.to', 's.other', 's.FROM', 's.alone'])
    await lab.createTable(name, [
      ['id', 'long'],
      ['name', 'string'],
    ])
  await lab.append('s.from', numbered(0, 5))
  await lab.append('s.from', numbered(5, 5))
})
afterAll(() => lab.close())

async function impactOf(path: string, options: Readonly<Record<string, unknown>>): Promise<Impact | undefined> {
  const body = { table: 's.from', ...options, dry_run: true }
  const answer = await lab.service.call('POST', `/api/${path}`, { body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const { impact } = JSON.parse(answer.body.details_json)
  return impact === undefined ? undefined : changeImpact.parse(impact)
}

async function copy(source: string, sink: string): Promise<string> {
  const started = await life.engineer.call('POST', '/api/pipeline/start', {
    source_table: source,
    sink_table: sink,
    checkpoint_location: `cp/${source}-${sink}`,
    trigger_interval: '1 hour',
  })
  expect(started.status, JSON.stringify(started.body)).toBe(200)
  return started.body.pipeline.id
}

describe('the preview of a change', () => {
  it('names nobody when no pipeline and no version uses the table', async () => {
    const nobody = { used_by: [], truncated: false, similar_tables: [] }
    expect(await impactOf('evolve/drop-column', { table: 's.alone', name: 'name' })).toEqual({
      ...nobody,
      column: 'name',
    })
    expect(await impactOf('expire', { table: 's.alone' })).toEqual({ ...nobody, column: null })
    expect(await impactOf('compact', { table: 's.alone' })).toBeUndefined()
    expect(await impactOf('evolve/add-column', { table: 's.alone', name: 'x', type: 'int' })).toBeUndefined()
  })

  it('names pipelines and versions with their state, environment and use', async () => {
    const id = await copy('s.from', 's.to')
    const version = await life.create('Large', graphOf(['s.from'], 's.other', 'id > 3'))
    const expiry = await impactOf('expire', {})
    expect(expiry?.used_by).toEqual([
      expect.objectContaining({ pipeline_id: id, definition: null, reads: 'yes', writes: null }),
      expect.objectContaining({
        pipeline_id: null,
        definition: 'Large',
        version: 1,
        environment: 'development',
        state: null,
        reads: 'yes',
        writes: null,
      }),
    ])
    expect((await impactOf('expire', { table: 's.other' }))?.used_by).toMatchObject([{ reads: null, writes: 'yes' }])
    const column = await impactOf('evolve/drop-column', { table: 's.other', name: 'name' })
    expect(column).toMatchObject({ column: 'name', used_by: [{ definition: 'Large', reads: null, writes: 'yes' }] })
    const { body } = await lab.service.get('/api/table/s.from/snapshots')
    const oldest = body.snapshots.at(-1).snapshot_id
    expect((await impactOf('rollback', { snapshot_id: oldest }))?.used_by.map(({ reads }) => reads)).toEqual([
      'yes',
      'yes',
    ])
    const stopped = await life.engineer.call('POST', `/api/pipeline/${id}/stop`)
    expect(stopped.status).toBe(200)
    expect((await impactOf('expire', {}))?.used_by).toContainEqual(
      expect.objectContaining({ pipeline_id: id, state: 'stopped' }),
    )
    await life.engineer.call('DELETE', `/api/pipeline-defs/${version.definitionId}`)
  })

  it('says that a column may be used when the columns of a version are unknown', async () => {
    const place = await life.create('Broken', graphOf(['s.alone'], 's.other', 'no_such_column > 1'))
    const impact = await impactOf('evolve/rename-column', { table: 's.alone', name: 'id', new_name: 'key' })
    expect(impact?.used_by).toMatchObject([{ definition: 'Broken', reads: 'unknown', writes: null }])
    await life.engineer.call('DELETE', `/api/pipeline-defs/${place.definitionId}`)
  })

  it('names tables of pipelines that differ only in case', async () => {
    await copy('s.FROM', 's.other')
    expect((await impactOf('expire', {}))?.similar_tables).toEqual(['s.FROM'])
  })
})
