import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cycleThrough } from '../../../src/streaming/supervision/cycle.ts'
import { numbered, openLab, type StreamLab } from '../support.ts'

const pipe = (id: string, sources: string[], sinkTable: string) => ({ id, sources, sinkTable })

describe('chained pipelines', () => {
  const live = [pipe('ab', ['a'], 'b'), pipe('bc', ['b'], 'c'), pipe('bx', ['b'], 'x'), pipe('cx', ['c', 'x'], 'd')]

  it('are no cycle while no rows flow back', () => {
    expect(cycleThrough(live, { sources: ['d'], sinkTable: 'e' })).toBeUndefined()
    expect(cycleThrough(live, { sources: ['a'], sinkTable: 'd' })).toBeUndefined()
    expect(cycleThrough([], { sources: ['a'], sinkTable: 'b' })).toBeUndefined()
  })

  it('are a cycle when rows flow back, over any distance', () => {
    expect(cycleThrough(live, { sources: ['b'], sinkTable: 'a' })).toEqual(['ab'])
    expect(cycleThrough(live, { sources: ['d'], sinkTable: 'a' })).toEqual(['ab', 'bc', 'cx'])
    expect(cycleThrough(live, { sources: ['y', 'x'], sinkTable: 'b' })).toEqual(['bx'])
  })
})

describe('a start that would create a cycle', () => {
  let lab: StreamLab
  beforeAll(async () => {
    lab = await openLab()
    for (const name of ['s.a', 's.b', 's.c']) {
      await lab.createTable(name, [
        ['id', 'long'],
        ['name', 'string'],
      ])
    }
    await lab.append('s.a', numbered(0, 10))
  })
  afterAll(() => lab.close())

  const start = (source: string, sink: string) =>
    lab.service.post('/api/pipeline/start', {
      source_table: `s.${source}`,
      sink_table: `s.${sink}`,
      checkpoint_location: `cp/${source}-${sink}`,
      trigger_interval: '100 ms',
    })

  it('is refused, with the pipelines of the cycle', async () => {
    const first = await start('a', 'b')
    const second = await start('b', 'c')
    expect([first.status, second.status]).toEqual([200, 200])
    const { status, body } = await start('c', 'a')
    expect([status, body.errors[0].path]).toEqual([409, 'sink_table'])
    expect(body.detail).toContain(`${first.body.pipeline.id}, ${second.body.pipeline.id}`)
    await lab.service.post(`/api/pipeline/${first.body.pipeline.id}/stop`, {})
    expect((await start('c', 'a')).status).toBe(200)
    const again = await start('a', 'b')
    expect([again.status, again.body.errors[0].path]).toEqual([409, 'sink_table'])
  })
})
