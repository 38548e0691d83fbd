import { describe, expect, it } from 'vitest'
import { marksOf } from '../../frontend/src/components/graph/diff-drawing.ts'
import { countsOf, changesMeaning } from '../../frontend/src/features/approvals/diff-counts.ts'
import { inboxOrder, readInboxFilter } from '../../frontend/src/features/approvals/inbox/order.ts'
import { followRequests } from '../../frontend/src/features/approvals/known-requests.ts'
import { diffGraphs } from '../../src/domain/graph-diff.ts'
import { versionDiff } from '../../src/schemas/definitions.ts'

const node = (id: string, config: Record<string, unknown> = {}, x = 0) => ({
  id,
  type: 't',
  config,
  position: { x, y: 0 },
})
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target })

describe('the marks of a diff', () => {
  const compared = { id: 'ver-1', version: 1, environment: 'qa', content_hash: 'h' } as const
  const diff = versionDiff.parse({
    from: compared,
    to: compared,
    identical: false,
    ...diffGraphs(
      { nodes: [node('a'), node('b', { x: 1 }), node('c')], edges: [edge('a', 'b'), edge('b', 'c')] },
      { nodes: [node('a', {}, 50), node('b', { x: 2 }), node('d')], edges: [edge('a', 'b'), edge('b', 'd')] },
    ),
  })

  it('name each changed node and edge once', () => {
    expect(Object.fromEntries(marksOf(diff.nodes))).toEqual({ b: 'changed', c: 'removed', d: 'added' })
    expect(Object.fromEntries(marksOf(diff.edges))).toEqual({ 'b-c': 'removed', 'b-d': 'added' })
    expect(countsOf(diff)).toEqual({ added: 2, removed: 2, changed: 1, moved: 1 })
  })

  it('ignore a move on the canvas', () => {
    const graph = { nodes: [node('a')], edges: [] }
    const moved = versionDiff.parse({ ...diff, ...diffGraphs(graph, { nodes: [node('a', {}, 9)], edges: [] }) })
    expect(changesMeaning(moved)).toBe(false)
    expect(changesMeaning(diff)).toBe(true)
  })
})

describe('the inbox', () => {
  it('lists pending requests first, then the latest decisions', () => {
    const request = (id: string, status: 'pending' | 'approved', requested: string, decided: string | null) => ({
      id,
      status,
      requested_at: requested,
      decided_at: decided,
    })
    const rows = [
      request('old', 'approved', '2026-01-01', '2026-01-09'),
      request('new', 'approved', '2026-01-03', '2026-01-04'),
      request('waits', 'pending', '2025-01-01', null),
      request('waits-too', 'pending', '2025-01-02', null),
    ]
    expect(inboxOrder(rows).map(({ id }) => id)).toEqual(['waits-too', 'waits', 'old', 'new'])
  })

  it('reads its filter from the address', () => {
    expect(['pending', 'nonsense', undefined, 7].map(readInboxFilter)).toEqual(['pending', 'all', 'all', 'all'])
  })
})

describe('requests in the event log', () => {
  const data = {
    definition_id: 'def-1',
    definition_name: 'orders',
    version_id: 'ver-1',
    version: 2,
    from_environment: 'qa',
    to_environment: 'uat',
    status: 'pending',
    requested_by: 'ana',
    requested_at: '2026-11-20T10:00:00.000Z',
    decided_by: null,
    decided_at: null,
  }
  const event = (seq: number, type: string, change: object = {}) => ({
    seq,
    at: '2026-11-20T10:00:00.000Z',
    type,
    object_type: 'approval',
    object_id: 'pr-1',
    data: { ...data, ...change },
  })

  it('are followed until their end', () => {
    const asked = followRequests(new Map(), [event(1, 'approval.requested')])
    expect(asked.get('pr-1')).toMatchObject({ id: 'pr-1', status: 'pending', requested_by: 'ana', isWithdrawn: false })
    const ended = followRequests(asked, [event(2, 'approval.withdrawn', { status: 'rejected', decided_by: 'ana' })])
    expect(ended.get('pr-1')).toMatchObject({ status: 'rejected', isWithdrawn: true })
    expect(asked.get('pr-1')?.status).toBe('pending')
  })

  it('do not include other events', () => {
    const comment = { ...event(1, 'approval.commented'), data: { comment_id: 'cmt-1' } }
    const table = { ...event(2, 'table.registered'), object_type: 'table' }
    expect(followRequests(new Map(), [comment, table]).size).toBe(0)
  })
})
