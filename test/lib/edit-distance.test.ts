import { describe, expect, it } from 'vitest'
import { nearestNames } from '../../src/lib/edit-distance.ts'

describe('nearestNames', () => {
  const names = ['demo.orders', 'demo.trips', 'Sales.Orders', 'demo.customer_events']

  it.each([
    ['health of ORDERS', ['demo.orders', 'Sales.Orders']],
    ['demo.trips', ['demo.trips']],
    ['trpis', ['demo.trips']],
    ['demo.trpis', ['demo.trips']],
    ['other.trips', ['demo.trips']],
    ['customr_evnts', ['demo.customer_events']],
    ['custmr_evnts', []],
    ['rtips', []],
    ['trip_s_x', []],
    ['', []],
  ])('returns the names that resemble a word of %s', (text, wanted) => {
    expect(nearestNames(text, names)).toEqual(wanted)
  })

  it('compares 10 distinct words when a text has more', () => {
    const words = Array.from({ length: 9 }, (_, at) => `word${at}`).join(' ')
    expect(nearestNames(`${words} ${words} trips`, names)).toEqual(['demo.trips'])
    expect(nearestNames(`${words} word9 trips`, names)).toEqual([])
  })
})
