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

  it('has stored triggers of a range, at most so many, with the extremes and the gaps', async () => {
    const started = await lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.ranges',
      create_sink_table: true,
      checkpoint_location: 'checkpoints/ranges',
      trigger_interval: '1 h',
    })
    const { id } = started.body.pipeline
    const path = `/api/pipeline/${id}/history`
    await until(async () => (await lab.service.get(path)).body.progress.length > 0)
    const { last_progress: last } = (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline
    const begin = Date.parse('2026-11-20T10:00:00Z')
    const at = (batch: number): string =>
      new Date(begin + batch * 1000 + (batch > 1500 ? 5 * 3_600_000 : 0)).toISOString()
    for (let batch = 1; batch <= 3000; batch++) {
      const progress = { ...last, timestamp: at(batch), batch_id: batch, batch_duration_ms: batch === 700 ? 5000 : 10 }
      lab.service.context.hub.publish('progress', id, progress)
    }
    const { status, body } = await lab.service.get(`${path}?from=${at(1)}&to=${at(3000)}&points=100`)
    expect(status).toBe(200)
    expect(body.is_thinned).toBe(true)
    expect(body.progress.length).toBeLessThanOrEqual(100)
    expect(body.progress.length).toBeGreaterThan(20)
    expect(Math.max(...body.progress.map((one: { batch_duration_ms: number }) => one.batch_duration_ms))).toBe(5000)
    const gaps = body.progress.filter((one: { after_gap: boolean }) => one.after_gap)
    expect(gaps.map((one: { batch_id: number }) => one.batch_id > 1500)).toContain(true)

    const some = (await lab.service.get(`${path}?from=${at(2990)}&to=${at(2995)}`)).body
    expect(some.progress.map((one: { batch_id: number }) => one.batch_id)).toEqual([2990, 2991, 2992, 2993, 2994, 2995])
    expect(some.is_thinned).toBe(false)
    const none = (await lab.service.get(`${path}?to=2020-01-01T00:00:00Z`)).body
    expect(none.progress).toEqual([])
    // the same time with another offset
    const offset = encodeURIComponent(at(2990).replace('T15', 'T17').replace('Z', '+02:00'))
    expect((await lab.service.get(`${path}?from=${offset}&to=${at(2990)}`)).body.progress).toHaveLength(1)
  })

  it.each([
    ['from=yesterday', 'from'],
    ['from=2026-11-20', 'from'],
    ['from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z', 'from'],
    ['points=1', 'points'],
    ['points=1e9', 'points'],
    ['points=many', 'points'],
    ['form=2026-11-20T00:00:00Z', 'form'],
  ])('refuses %s', async (query, path) => {
    const [{ id }] = (await lab.service.get('/api/pipelines')).body.pipelines
    const { status, body } = await lab.service.get(`/api/pipeline/${id}/history?${query}`)
    expect(status, JSON.stringify(body)).toBe(400)
    expect(JSON.stringify(body.errors)).toContain(path)
  })
})
