import { describe, expect, it } from 'vitest'
import { cooldownAfter, dueBecause, type PolicyConditions } from '../../../src/domain/policies/due.ts'

const TABLE = {
  score: 70,
  smallFiles: 12,
  deleteRatio: 0.05,
  equalityDeleteFiles: 3,
  snapshots: 40,
  sequenceNumber: 100,
}
const NOW = Date.parse('2026-06-15T03:00:00Z')

const due = (when: PolicyConditions, history = {}, table = {}) =>
  dueBecause(
    when,
    { ...TABLE, ...table },
    { history: { lastSequence: 95, scheduledFromMs: NOW - 3_600_000, ...history }, nowMs: NOW },
  )

describe('an operation', () => {
  it.each([
    [{ health_below: 71 }, 'health 70 is below 71'],
    [{ health_below: 70 }, undefined],
    [{ small_files_over: 11 }, '12 small files are over 11'],
    [{ small_files_over: 12 }, undefined],
    [{ delete_ratio_over: 0.01 }, '5.0 % deleted rows are over 1.0 %'],
    [{ delete_ratio_over: 0.05 }, undefined],
    [{ equality_delete_files_over: 2 }, '3 equality delete files are over 2'],
    [{ equality_delete_files_over: 3 }, undefined],
    [{ snapshots_over: 0 }, '40 snapshots are over 0'],
    [{ commits_since_last_over: 4 }, '5 commits since the last run are over 4'],
    [{ commits_since_last_over: 5 }, undefined],
    [{ health_below: 1, snapshots_over: 39 }, '40 snapshots are over 39'],
    [{ schedule: { cron: '30 2 * * *', timezone: 'UTC' } }, 'scheduled for 2026-06-15T02:30:00.000Z'],
    [{ schedule: { cron: '30 3 * * *', timezone: 'UTC' } }, undefined],
  ])('with %j is due: %s', (when, reason) => {
    expect(due(when)).toBe(reason)
  })

  it('counts all commits before its first run', () => {
    expect(due({ commits_since_last_over: 99 }, { lastSequence: undefined })).toMatch(/^100 commits/)
  })

  it('counts all commits of a table whose history has started again', () => {
    expect(due({ commits_since_last_over: 99 }, { lastSequence: 500 })).toMatch(/^100 commits/)
  })

  it('is never due on a table that could not be read', () => {
    expect(due({ snapshots_over: 0, health_below: 100 }, {}, { score: undefined })).toBeUndefined()
  })
})

it('runs without effect double the cooldown from the second on, up to 30 days', () => {
  const hour = 3_600_000
  expect([0, 1, 2, 3, 4].map((runs) => cooldownAfter(hour, runs) / hour)).toEqual([1, 1, 2, 4, 8])
  expect(cooldownAfter(hour, 1000)).toBe(30 * 24 * hour)
  expect(cooldownAfter(60 * 24 * hour, 1000)).toBe(60 * 24 * hour)
})
