import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { numbered, openLab, type StreamLab } from '../support.ts'
import { sleep, until } from '../../support/waiting.ts'
import { LONG } from '../../support/effort.ts'

const PIPELINES = 300
const WATCHED_MS = 3000

describe('hundreds of pipelines in one process', { ...LONG, timeout: 180_000 }, () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab({ overrides: { streaming: {} } })
    await lab.createTable('s.src', [
      ['id', 'long'],
      ['name', 'string'],
    ])
  })
  afterAll(() => lab.close(), 60_000)

  const progressed = async (rows: number): Promise<boolean> => {
    const { body } = await lab.service.get('/api/pipelines')
    const pipelines: { state: string; last_progress: { num_input_rows: number } | null }[] = body.pipelines
    const done = pipelines.filter(({ last_progress: last }) => last?.num_input_rows === rows)
    return done.length === PIPELINES
  }

  it(`all ${PIPELINES} wake up for one commit after an idle period`, async () => {
    for (let at = 0; at < PIPELINES; at += 1) {
      const answer = await lab.service.post('/api/pipeline/start', {
        source_table: 's.src',
        sink_table: `s.sink_${at}`,
        checkpoint_location: `cp/${at}`,
        trigger_interval: '1 s',
        create_sink_table: true,
      })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    }
    await until(
      async () => {
        const { body } = await lab.service.get('/api/pipelines?state=running')
        return body.pipelines.length === PIPELINES
      },
      'all to run',
      60_000,
    )
    const before = process.cpuUsage()
    await sleep(WATCHED_MS)
    const { user, system } = process.cpuUsage(before)
    const perTrigger = (user + system) / 1000 / (PIPELINES * (WATCHED_MS / 1000))
    process.stdout.write(`idle trigger: ${perTrigger.toFixed(3)} ms CPU, ${PIPELINES} pipelines\n`)
    await lab.append('s.src', numbered(0, 7))
    await until(() => progressed(7), 'all to read the commit', 120_000)
  })
})
