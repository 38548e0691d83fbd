import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'

describe('a pipeline that should stop when its process is killed', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  it('has stopped as soon as the service runs again, because no other process can have the state', async () => {
    await lab.createTable('s.left', [['id', 'long']])
    const { status, body } = await lab.service.post('/api/pipeline/start', {
      source_table: 's.left',
      sink_table: 's.left_sink',
      checkpoint_location: `${lab.service.folder}/home/warehouse/left`,
      trigger_interval: '100 ms',
      create_sink_table: true,
    })
    expect(status, JSON.stringify(body)).toBe(200)
    const { id } = body.pipeline
    const stateOf = async () => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline.state
    await lab.service.post(`/api/pipeline/${id}/stop`, {})
    await until(async () => (await stateOf()) === 'stopped')
    const database = new DatabaseSync(`${lab.service.folder}/home/state.db`, { timeout: 5000 })
    database
      .prepare("UPDATE streaming_pipelines SET state = 'stopping', lease_owner = 999, lease_until_ms = ? WHERE id = ?")
      .run(Date.now() + 3_600_000, id)
    database.close()
    await until(async () => (await stateOf()) === 'stopped')
  })
})
