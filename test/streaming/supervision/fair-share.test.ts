import { describe, expect, it } from 'vitest'
import { FairShare } from '../../../src/streaming/supervision/fair-share.ts'

describe('the share of a process', () => {
  it('is everything while it is the only process', () => {
    const share = new FairShare()
    share.begin(500, 1)
    expect(share.mayTake('p', 499)).toBe(true)
    expect(share.surplus(500)).toBe(0)
  })

  it('is an equal part, rounded up; the surplus is handed over in steps', () => {
    const share = new FairShare()
    share.begin(7, 2)
    expect(share.mayTake('p', 3)).toBe(true)
    expect(share.mayTake('p', 4)).toBe(false)
    expect([share.surplus(4), share.surplus(7)]).toEqual([0, 3])
    share.begin(300, 3)
    expect(share.surplus(300)).toBe(10)
  })

  it('grows by pipelines that stay unclaimed; after that nothing is handed over for some time', () => {
    const share = new FairShare()
    const taken: boolean[] = []
    for (let tick = 0; tick < 4; tick += 1) {
      share.begin(4, 2)
      taken.push(share.mayTake('p', 2))
    }
    expect(taken).toEqual([false, false, false, true])
    expect(share.surplus(3)).toBe(0)
    for (let tick = 0; tick < 120; tick += 1) share.begin(4, 2)
    expect(share.surplus(3)).toBe(1)
  })

  it('counts from zero when another process ran the pipeline in between', () => {
    const share = new FairShare()
    for (let tick = 0; tick < 10; tick += 1) {
      share.begin(4, 2)
      expect(share.mayTake('p', 2)).toBe(false)
      if (tick % 2 === 1) share.forget('p')
    }
  })
})
