import { expect, it } from 'vitest'
import { createIdSource } from '../../src/domain/ids.ts'

const random = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

it('ids sort in the order of creation, within a millisecond and when the clock goes back', () => {
  let now = 1_800_000_000_000
  const newId = createIdSource(() => now, random)
  const ids: string[] = []
  for (let i = 0; i < 20_000; i++) {
    if (i % 100 === 0) now += 1
    if (i === 10_000) now -= 60_000
    ids.push(newId('pr'))
  }
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.every((id) => /^pr-[0-9a-hjkmnp-tv-z]{26}$/.test(id))).toBe(true)
})

it('an id that has no successor is followed by a new one', () => {
  const bytes = [new Uint8Array(16).fill(31), new Uint8Array(16).fill(0)]
  const newId = createIdSource(
    () => 5,
    () => bytes.shift() ?? random(16),
  )
  expect(newId('op')).toBe(`op-0000000005${'z'.repeat(16)}`)
  expect(newId('op')).toBe(`op-0000000005${'0'.repeat(16)}`)
  expect(newId('op')).toBe(`op-0000000005${'0'.repeat(15)}1`)
})
