import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAST, numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const HOUR = 3_600_000
const JUMPS: readonly (readonly [string, number])[] = [
  ['an hour ahead', HOUR],
  ['two hours back', -2 * HOUR],
  ['a year ahead', 365 * 24 * HOUR],
  ['ten years back', -10 * 365 * 24 * HOUR],
  ['thirty seconds back', -30_000],
]

describe('a pipeline while the clock of its machine jumps', LONG, () => {
  let lab: StreamLab
  let offsetMs = 0
  const now = Date.now.bind(Date)
  beforeAll(async () => {
    Date.now = () => now() + offsetMs
    lab = await openLab({ overrides: { now: () => new Date(now() + offsetMs), streaming: FAST } })
    await lab.createTable('s.src', [
      ['id', 'long'],
      ['name', 'string'],
    ])
  })
  afterAll(async () => {
    offsetMs = 0
    await lab.close()
    Date.now = now
  })

  it('continues to read each row once, and keeps or re-acquires its lease', async () => {
    await lab.append('s.src', numbered(0, 10))
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: 's.src',
      sink_table: 's.sink',
      checkpoint_location: 'cp/clock',
      trigger_interval: '100 ms',
      create_sink_table: true,
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { id } = answer.body.pipeline
    let rows = 10
    const untilCopied = async (what: string): Promise<void> => {
      await until(async () => (await lab.rows('s.sink').catch(() => [])).length >= rows, what)
      expect(await lab.rows('s.sink')).toEqual(await lab.rows('s.src'))
    }
    await untilCopied('the first rows')
    for (const [what, ms] of JUMPS) {
      offsetMs += ms
      await lab.append('s.src', numbered(rows, rows + 10))
      rows += 10
      await untilCopied(`the rows after the clock went ${what}`)
      const pipeline = await until(async () => {
        const { body } = await lab.service.get(`/api/pipeline/${id}/status`)
        return body.pipeline.state === 'running' && body.pipeline
      }, `a running pipeline after the clock went ${what}`)
      expect(pipeline.error).toBeNull()
      expect(pipeline.last_progress.sources[0].lag.seconds).toBeGreaterThanOrEqual(0)
    }
    const stopped = await lab.service.post(`/api/pipeline/${id}/stop`, {})
    expect(stopped.body.pipeline.state).toBe('stopped')
  })
})
