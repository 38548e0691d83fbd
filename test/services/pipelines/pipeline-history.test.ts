import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numbered, openLab, type StreamLab } from '../../streaming/support.ts'
import { until } from '../../support/waiting.ts'

describe('the history of a pipeline', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
    await lab.createTable('s.src', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.src', numbered(0, 3))
  })
  afterAll(() => lab.close())

  it('lists the triggers and the states in order, and ends with the pipeline', async () => {
    const started = await lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.copy',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/history',
      trigger_interval: '100 ms',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const { id } = started.body.pipeline
    const path = `/api/pipeline/${id}/history`
    await until(async () => (await lab.service.get(path)).body.progress.length > 0)
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    const { status, body } = await lab.service.get(path)
    expect(status).toBe(200)
    expect(body.progress[0]).toMatchObject({ batch_id: 0, num_input_rows: 3, num_output_rows: 3, lag_rows: 0 })
    expect(body.states.map(({ state }: { state: string }) => state)).toEqual([
      'starting',
      'running',
      'stopping',
      'stopped',
    ])
    expect(body.states.every(({ at }: { at: string }) => at >= body.since)).toBe(true)
    expect((await lab.service.call('DELETE', `/api/pipeline/${id}`)).status).toBe(204)
    expect((await lab.service.get(path)).status).toBe(404)
  })

  it('keeps the newest triggers only', async () => {
    const started = await lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.many',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/many',
      trigger_interval: '1 h',
    })
    const { id } = started.body.pipeline
    const path = `/api/pipeline/${id}/history`
    await until(async () => (await lab.service.get(path)).body.progress.length > 0)
    const { last_progress: last } = (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
    for (let batch = 1; batch <= 1000; batch++)
      lab.service.context.hub.publish('progress', id, { ...last, batch_id: batch })
    const { progress } = (await lab.service.get(path)).body
    expect(progress.length).toBe(300)
    expect(progress.at(-1).batch_id).toBe(1000)
    expect(progress[0].batch_id).toBe(701)
  })
})
