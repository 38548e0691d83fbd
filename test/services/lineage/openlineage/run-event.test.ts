import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../../src/domain/ids.ts'
import { runChange } from '../../../../src/services/lineage/openlineage/run-event.ts'
import { runUuid } from '../../../../src/services/lineage/openlineage/run-id.ts'

const event = (type: string, object_type: string, data: Readonly<Record<string, unknown>>) => ({
  seq: 1,
  at: '2026-01-02T03:04:05.678Z',
  type,
  object_type,
  object_id: 'op-1',
  data,
})

describe('the UUID of a run', () => {
  it('has version 7 and the time of the id', () => {
    const newId = createIdSource(
      () => 0x0123_4567_89ab,
      (length) => new Uint8Array(length).fill(255),
    )
    expect(runUuid(newId('op'))).toBe('01234567-89ab-7fff-bfff-ffffffffffff')
  })

  it('differs for ids of the same millisecond', () => {
    const newId = createIdSource(
      () => 1_700_000_000_000,
      (length) => crypto.getRandomValues(new Uint8Array(length)),
    )
    const made = Array.from({ length: 5000 }, () => runUuid(newId('run')))
    expect(new Set(made).size).toBe(5000)
    expect(
      made.every((uuid) => /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuid!)),
    ).toBe(true)
  })

  it('does not exist for a text that is no id', () => {
    expect(['', 'op-1', 'op-', `op-${'u'.repeat(26)}`, `op-${'0'.repeat(27)}`].map(runUuid)).toEqual(
      Array.from({ length: 5 }, () => undefined),
    )
  })
})

describe('the change of a run', () => {
  it.each([
    ['operation.started', 'running', 'START'],
    ['operation.finished', 'succeeded', 'COMPLETE'],
    ['operation.finished', 'failed', undefined],
    ['operation.failed', 'failed', 'FAIL'],
    ['operation.finished', 'cancelled', 'ABORT'],
    ['operation.finished', 'unknown', 'ABORT'],
  ])('%s with the state %s is %s', (type, state, expected) => {
    const change = runChange(event(type, 'operation', { operation: 'compact', table: 's.a', state }))
    expect(change?.state).toBe(expected)
    if (change !== undefined) expect(change).toMatchObject({ job: 'compact.s.a', inputs: ['s.a'], outputs: ['s.a'] })
  })

  it.each([
    ['pipeline.started', 'START'],
    ['pipeline.stopped', 'COMPLETE'],
    ['pipeline.failed', 'FAIL'],
    ['pipeline.degraded', undefined],
    ['pipeline.stopping', undefined],
    ['pipeline.deleted', undefined],
  ])('%s is %s', (type, expected) => {
    const data = { run_id: 'run-1', source_tables: ['s.a', 's.b'], sink_table: 's.c', definition: null }
    const change = runChange(event(type, 'pipeline', data))
    expect(change?.state).toBe(expected)
    if (change !== undefined) expect(change).toMatchObject({ job: 'copy.s.a+s.b.s.c', run: 'run-1', outputs: ['s.c'] })
    const named = runChange(event(type, 'pipeline', { ...data, definition: 'Orders', environment: 'qa' }))
    if (named !== undefined) expect(named.job).toBe('Orders.qa')
  })

  it('is undefined for events of other objects', () => {
    expect(runChange(event('version.moved', 'version', {}))).toBeUndefined()
    expect(runChange(event('policy.created', 'policy', {}))).toBeUndefined()
  })
})
