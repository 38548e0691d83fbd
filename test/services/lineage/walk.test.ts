import { describe, expect, it } from 'vitest'
import { type Flow, inOrderOfUse, pipelineFlow } from '../../../src/services/lineage/flow.ts'
import { countHidden, walkLineage, type WalkRequest } from '../../../src/services/lineage/walk.ts'
import type { PipelineRecord } from '../../../src/storage/stores/pipelines/pipeline-store.ts'

let made = 0
function pipeline(sources: readonly string[], sinkTable: string, state: PipelineRecord['state'] = 'running'): Flow {
  made += 1
  return pipelineFlow({
    id: `p${made}`,
    runId: 'r',
    queryId: 'q',
    sources,
    sinkTable,
    checkpointLocation: `cp/${made}`,
    triggerInterval: '1 s',
    triggerMs: 1000,
    options: { onDelete: 'fail', createSinkTable: false, maxFilesPerBatch: 1, maxBytesPerBatch: 1 },
    engine: 'embedded',
    desiredState: 'running',
    state,
    warnings: [],
    createdBy: 'ed',
    createdAt: '2026-01-01T00:00:00.000Z',
  })
}

function walk(flows: readonly Flow[], request: Partial<WalkRequest>) {
  const {
    tables,
    flows: found,
    truncated,
  } = walkLineage(flows, {
    table: 's.a',
    direction: 'both',
    depth: 20,
    limit: 1000,
    ...request,
  })
  return { tables: [...tables], flows: found.size, truncated }
}

describe('a walk', () => {
  it('follows one direction, and nothing beside it', () => {
    const flows = [pipeline(['s.a', 's.x'], 's.b'), pipeline(['s.b'], 's.c'), pipeline(['s.o'], 's.a')]
    expect(walk(flows, { direction: 'downstream' }).tables).toEqual(['s.a', 's.b', 's.c'])
    expect(walk(flows, { direction: 'upstream' }).tables).toEqual(['s.a', 's.o'])
    expect(walk(flows, { direction: 'both' }).tables).toEqual(['s.a', 's.o', 's.b', 's.c'])
    expect(walk(flows, { table: 's.b', direction: 'upstream' }).tables).toEqual(['s.b', 's.a', 's.x', 's.o'])
  })

  it('ends in a cycle, and in a pipeline from a table into itself', () => {
    const cycle = [pipeline(['s.a'], 's.b'), pipeline(['s.b'], 's.a'), pipeline(['s.a'], 's.a')]
    expect(walk(cycle, {})).toEqual({ tables: ['s.a', 's.b'], flows: 3, truncated: false })
  })

  it('stops at the depth', () => {
    const chain = Array.from({ length: 30 }, (_, at) => pipeline([`s.t${at}`], `s.t${at + 1}`))
    expect(walk(chain, { table: 's.t0', depth: 2 }).tables).toEqual(['s.t0', 's.t1', 's.t2'])
    expect(walk(chain, { table: 's.t5', depth: 1 }).tables).toEqual(['s.t5', 's.t4', 's.t6'])
  })

  it('keeps names apart that differ only in case', () => {
    const flows = [pipeline(['s.a'], 's.b'), pipeline(['S.A'], 's.c')]
    expect(walk(flows, {}).tables).toEqual(['s.a', 's.b'])
  })

  it('counts the flows of its tables that it leaves out', () => {
    const flows = [pipeline(['s.a'], 's.b'), pipeline(['s.b'], 's.c'), pipeline(['s.b', 's.b'], 's.b')]
    const request = { table: 's.a', direction: 'downstream', depth: 1, limit: 100 } as const
    expect([...countHidden(flows, walkLineage(flows, request))]).toEqual([['s.b', 2]])
    expect([...countHidden(flows, walkLineage(flows, { ...request, depth: 2 }))]).toEqual([])
  })

  it('returns a table without pipelines alone', () => {
    expect(walk([pipeline(['s.x'], 's.y')], {})).toEqual({ tables: ['s.a'], flows: 0, truncated: false })
  })
})

describe('the limit', () => {
  it('counts tables and pipelines, and the answer says that there are more', () => {
    const flows = Array.from({ length: 50 }, (_, at) => pipeline(['s.a'], `s.t${at}`))
    expect(walk(flows, { limit: 11 })).toMatchObject({ flows: 5, truncated: true })
    expect(walk(flows, { limit: 101 })).toMatchObject({ flows: 50, truncated: false })
  })

  it('shows a part of a pipeline with more sources than the limit', () => {
    const wide = pipeline(
      Array.from({ length: 100 }, (_, at) => `s.t${at}`),
      's.a',
    )
    const { tables, flows, truncated } = walk([wide], { limit: 10 })
    expect([tables.length, flows, truncated]).toEqual([9, 1, true])
  })

  it('is reached in order: live pipelines first when no table is given', () => {
    const flows = inOrderOfUse([pipeline(['s.o'], 's.p', 'stopped'), pipeline(['s.l'], 's.m', 'degraded')])
    expect(walk(flows, { table: undefined, limit: 3 })).toEqual({ tables: ['s.l', 's.m'], flows: 1, truncated: true })
  })

  it('holds in a lake of 10,000 tables in one chain', () => {
    const chain = Array.from({ length: 10_000 }, (_, at) => pipeline([`s.t${at}`], `s.t${at + 1}`))
    expect(walk(chain, { table: undefined, limit: 2000 }).truncated).toBe(true)
    expect(walk(chain, { table: 's.t5000', limit: 2000 }).tables.length).toBe(41)
  })
})
