import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteRow, numbered, openLab, type StreamLab } from '../support.ts'
import { until } from '../../support/waiting.ts'

describe('a pipeline that mirrors changes', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
  })
  afterAll(() => lab.close())

  const status = async (id: string) => (await lab.service.get(`/api/pipeline/${id}/status`)).body.pipeline

  it('applies inserts, updates and deletes', async () => {
    await lab.createTable('s.orders', [
      ['id', 'long'],
      ['name', 'string'],
    ])
    await lab.append('s.orders', numbered(0, 10))
    const answer = await lab.service.post('/api/pipeline/start', {
      source_table: 's.orders',
      sink_table: 's.mirrored',
      checkpoint_location: 'cp/orders',
      trigger_interval: '100 ms',
      create_sink_table: true,
      read: 'changes',
      write: 'mirror',
      key: ['id'],
    })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    const { id } = answer.body.pipeline
    const same = () =>
      until(async () => {
        const [from, to] = [await lab.rows('s.orders'), await lab.rows('s.mirrored').catch(() => [])]
        if (from.join() === to.join()) return true
        const { state, error } = await status(id)
        if (error !== null) throw new Error(`${state} ${JSON.stringify(error)}`)
        return undefined
      }, 'the sink equals the source')
    await same()
    await deleteRow(lab, 's.orders', 3)
    await same()
    await deleteRow(lab, 's.orders', 4)
    await lab.append('s.orders', "SELECT 4::BIGINT AS c1, 'four' AS c2", numbered(20, 25))
    await same()
    expect((await status(id)).last_progress.sink).toMatchObject({ num_deleted_rows: 0 })
  })
})
