import { describe, expect, it } from 'vitest'
import { describePlan } from '../../../src/agent/tools/plan-text.ts'

const user = (pipeline: string | null, reads: 'yes' | 'no' | 'unknown') => ({
  pipeline_id: pipeline,
  state: pipeline === null ? null : 'running',
  definition: 'Orders',
  version: 1,
  environment: 'qa',
  reads,
  writes: null,
})

function described(used: readonly unknown[], truncated = false): string | undefined {
  const impact = { column: 'x', used_by: used, truncated, similar_tables: [] }
  return describePlan('drop_column', 's.t', { name: 'x', impact })
}

describe('the sentence of a proposed change', () => {
  it('counts pipelines and versions that may use the column', () => {
    expect(described([user('pipe-1', 'yes'), user('pipe-2', 'unknown'), user(null, 'yes'), user(null, 'no')])).toBe(
      'Drop column "x" of s.t; its values can no longer be read; 2 pipelines and 1 version may use the column',
    )
    expect(described([user(null, 'yes')], true)).toMatch(/; at least 1 version may use the column$/)
  })

  it('says that nothing uses the column only if everything is listed', () => {
    expect(described([user('pipe-1', 'no')])).toMatch(/; no pipeline and no version uses the column$/)
    expect(described([], true)).toMatch(/no longer be read$/)
    expect(describePlan('drop_column', 's.t', { name: 'x' })).toMatch(/no longer be read$/)
  })
})
