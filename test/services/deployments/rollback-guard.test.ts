import { describe, expect, it } from 'vitest'
import { rollbackBecause, type WatchedPipeline } from '../../../src/services/deployments/rollback-guard.ts'

const GUARD = {
  rolloutId: 'dep-1',
  sinceMs: 0,
  pipelineId: 'pipe-1',
  runId: 'run-2',
  previousVersionId: 'ver-1',
  lagBefore: 0,
  isBackfill: false,
}
const LAG = { lag_over: '15 minutes', failed_batches: null, within: '1 hour' }
const FAILURES = { lag_over: null, failed_batches: 3, within: '1 hour' }

function running(lagSeconds: readonly number[], runId = 'run-2'): WatchedPipeline {
  const sources = lagSeconds.map((seconds) => ({ lag: { seconds } }))
  return { runId: 'run-2', state: 'running', progress: { run_id: runId, sources } }
}
const failing = (failures: number): WatchedPipeline => ({
  runId: 'run-2',
  state: 'degraded',
  error: { code: 'INTERNAL', message: 'bad row', failures },
})

describe('a rule that rolls back a deployment', () => {
  it.each([
    ['the lag of one source is over the limit', GUARD, running([10, 901]), 'the lag of 901 s is over 15 minutes'],
    ['the lag is at the limit', GUARD, running([900]), undefined],
    ['the lag was measured by the run before', GUARD, running([5000], 'run-1'), undefined],
    ['no batch has ended yet', GUARD, { runId: 'run-2', state: 'running' }, undefined],
    ['the version before was as late', { ...GUARD, lagBefore: 1200 }, running([1000]), undefined],
    [
      'the version before was less late',
      { ...GUARD, lagBefore: 950 },
      running([1000]),
      'the lag of 1,000 s is over 15 minutes',
    ],
    ['it reads a source from the beginning', { ...GUARD, isBackfill: true }, running([5000]), undefined],
  ] as const)('by lag decides when %s', (_, guard, pipeline, because) => {
    expect(rollbackBecause(guard, LAG, pipeline)).toBe(because)
  })

  it.each([
    ['two batches have failed', failing(2), undefined],
    ['three batches have failed', failing(3), '3 batches failed in a row: bad row'],
    [
      'the pipeline has failed',
      { runId: 'run-2', state: 'failed', error: { code: 'X', message: 'gone' } },
      'the pipeline failed: gone',
    ],
    ['only the lag is long', running([5000]), undefined],
  ] as const)('by failed batches decides when %s', (_, pipeline, because) => {
    expect(rollbackBecause(GUARD, FAILURES, pipeline)).toBe(because)
  })
})
