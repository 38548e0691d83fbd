import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numbered, openLab, type StreamLab } from './support.ts'
import { until } from '../support/waiting.ts'

describe('a pipeline from table to table', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  const start = async (body: object) => lab.service.post('/api/pipeline/start', { trigger_interval: '100 ms', ...body })

  it('copies existing rows, then appended rows', async () => {
    await lab.createTable('s.a', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.a', numbered(0, 10), numbered(10, 20))
    await lab.append('s.a', numbered(20, 30))
    const answer = await start({
      source_table: 's.a',
      sink_table: 's.a_copy',
      checkpoint_location: 'cp/a',
      create_sink_table: true,
      max_files_per_batch: 1,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { id } = answer.body.pipeline
    await until(async () => (await lab.rows('s.a_copy').catch(() => [])).length === 30)
    await lab.append('s.a', numbered(30, 45))
    await lab.append('s.a', numbered(45, 50))
    await until(async () => (await lab.rows('s.a_copy')).length === 50)
    expect(await lab.rows('s.a_copy')).toEqual(await lab.rows('s.a'))
    const status = await lab.service.get(`/api/pipeline/${id}/status`)
    expect(status.body.pipeline).toMatchObject({ state: 'running', desired_state: 'running', error: null })
    expect(status.body.pipeline.last_progress.sources[0].lag.files).toBe(0)
    const stopped = await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect(stopped.body.pipeline).toMatchObject({ state: 'stopped', desired_state: 'stopped' })
    await lab.append('s.a', numbered(50, 60))
    const again = await start({ source_table: 's.a', sink_table: 's.a_copy', checkpoint_location: 'cp/a' })
    expect(again.body.pipeline.id).toBe(id)
    await until(async () => (await lab.rows('s.a_copy')).length === 60)
    expect(await lab.rows('s.a_copy')).toEqual(await lab.rows('s.a'))
  })
})
