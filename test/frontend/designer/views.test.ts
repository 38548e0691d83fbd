import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { drawDiff } from '../../../frontend/src/components/graph/diff-drawing.ts'
import { configText, modeOf, summaryOf } from '../../../frontend/src/components/graph/node-summary.ts'
import { gatesOf, lockingEnvironments, movesOf } from '../../../frontend/src/features/designer/board.ts'
import { configFields, shownFields, withValue } from '../../../frontend/src/features/designer/fields/config-fields.ts'
import { diffLines } from '../../../frontend/src/features/designer/versions/diff-lines.ts'
import { exportFileName, readDocument } from '../../../frontend/src/features/designer/import-document.ts'
import { diffGraphs } from '../../../src/domain/graph-diff.ts'
import { nodeConfigs, type NodeType } from '../../../src/schemas/node-types.ts'

const fieldsOf = (type: NodeType) =>
  configFields({ config_schema: { ...z.toJSONSchema(nodeConfigs[type], { io: 'input' }) } })

const node = (id: string, config: Record<string, unknown> = {}, x = 0, y = 0) => ({
  id,
  type: 'filter',
  config,
  position: { x, y },
})

describe('config forms', () => {
  it('have a suitable field for every property of every node type', () => {
    expect(fieldsOf('iceberg-source')).toMatchObject([
      { name: 'table', kind: 'table', isRequired: true, label: 'Table' },
      { name: 'read', kind: 'choice', options: ['appends', 'changes'], fallback: 'appends' },
      { name: 'key', kind: 'columns', isRequired: false },
    ])
    expect(fieldsOf('iceberg-sink')).toMatchObject([
      { name: 'table', kind: 'table' },
      { name: 'write', kind: 'choice', options: ['append', 'upsert', 'mirror'], fallback: 'append' },
      { name: 'key', kind: 'columns', isRequired: false },
    ])
    expect(fieldsOf('filter')).toMatchObject([{ name: 'condition', kind: 'sql', isRequired: true }])
    expect(fieldsOf('union')).toMatchObject([
      { kind: 'choice', options: ['fail', 'null'], fallback: 'fail', isRequired: false, label: 'Missing columns' },
    ])
    expect(fieldsOf('sql')).toMatchObject([
      { name: 'query', kind: 'sql' },
      { name: 'inputs', kind: 'names', isRequired: false },
    ])
    const [columns] = fieldsOf('select')
    expect(columns).toMatchObject({
      kind: 'rows',
      fields: [
        { name: 'name', kind: 'text' },
        { name: 'expression', kind: 'sql' },
      ],
    })
    const [expectations, divertTo] = fieldsOf('check')
    expect(divertTo).toMatchObject({ name: 'divert_to', kind: 'table', isRequired: false })
    expect(expectations).toMatchObject({
      kind: 'rows',
      fields: [
        { name: 'name', kind: 'text' },
        { name: 'condition', kind: 'sql' },
        { name: 'on_failure', kind: 'choice', options: ['fail', 'drop', 'divert'] },
        { name: 'max_ratio', kind: 'number', isRequired: false },
      ],
    })
    expect(fieldsOf('deduplicate')).toMatchObject([
      { name: 'key', kind: 'columns' },
      { kind: 'choice' },
      { kind: 'list' },
      { kind: 'flag' },
    ])
    expect(fieldsOf('lookup').map(({ kind }) => kind)).toEqual(['table', 'rows', 'rows', 'choice', 'choice'])
    for (const type of Object.keys(nodeConfigs) as NodeType[]) {
      expect(fieldsOf(type).map(({ kind }) => kind)).not.toContain('json')
    }
  })

  it.each([
    ['iceberg-source', {}, false],
    ['iceberg-source', { read: 'appends' }, false],
    ['iceberg-source', { read: 'changes' }, true],
    ['iceberg-sink', {}, false],
    ['iceberg-sink', { write: 'mirror' }, true],
    ['iceberg-sink', { write: 'append', key: ['id'] }, true],
  ] as const)('of %s with %j ask for a key: %s', (type, config, hasKey) => {
    const info = { config_schema: { ...z.toJSONSchema(nodeConfigs[type], { io: 'input' }) } }
    expect(shownFields(info, config).some(({ name }) => name === 'key')).toBe(hasKey)
  })

  it('edit unknown properties as JSON', () => {
    const schema = { properties: { a: { type: 'array', items: { type: 'number' } }, b: {}, c: { type: 'boolean' } } }
    expect(configFields({ config_schema: schema }).map(({ kind }) => kind)).toEqual(['json', 'json', 'flag'])
    expect(configFields({ config_schema: {} })).toEqual([])
  })

  it('omit empty values', () => {
    expect(withValue({ a: 1, b: 2 }, 'a', '')).toEqual({ b: 2 })
    expect(withValue({ a: 1 }, 'b', undefined)).toEqual({ a: 1 })
    expect(withValue({ a: 1 }, 'b', false)).toEqual({ a: 1, b: false })
  })

  it('summarize a node in one line', () => {
    expect(summaryOf(node('a', { table: 'demo.orders' }))).toBe('demo.orders')
    expect(summaryOf(node('a', { query: 'select *\n  from input' }))).toBe('select * from input')
    expect(summaryOf(node('a', { columns: [{ name: 'id' }, { name: 'total' }] }))).toBe('id, total')
    expect(summaryOf(node('a', { key: ['id', 'day'], keep: 'first' }))).toBe('id, day')
    expect(summaryOf(node('a'))).toBe('')
    expect(modeOf(node('a', { read: 'changes', key: ['id'] }))).toBe('changes')
    expect(modeOf(node('a', { write: 'mirror', key: ['id', 'region'] }))).toBe('mirror by id, region')
    expect(modeOf(node('a', { write: 'upsert' }))).toBe('upsert')
    expect([{ read: 'appends' }, { write: 'append' }, {}].map((config) => modeOf(node('a', config)))).toEqual([
      '',
      '',
      '',
    ])
    expect([configText('a'), configText(['id', 'region']), configText({ a: 1 })]).toEqual([
      'a',
      'id, region',
      '{\n  "a": 1\n}',
    ])
    expect(summaryOf(node('a', { query: 'x'.repeat(500) })).length).toBe(80)
  })
})

describe('a comparison', () => {
  const older = {
    nodes: [node('keep'), node('edit', { condition: 'a' }, 300), node('gone', {}, 0, 10), node('walk', {}, 600)],
    edges: [
      { id: 'e', source: 'keep', target: 'edit' },
      { id: 'g', source: 'gone', target: 'edit' },
      { id: 'turn', source: 'edit', target: 'walk' },
    ],
  }
  const newer = {
    nodes: [node('keep'), node('edit', { condition: 'b' }, 300), node('walk', {}, 640, 50), node('new', {}, 900)],
    edges: [
      { id: 'e', source: 'keep', target: 'edit' },
      { id: 'turn', source: 'edit', target: 'new' },
    ],
  }
  const compared = { id: 'ver', version: 1, environment: 'qa' as const, content_hash: '' }
  const parts = diffGraphs(older, newer)
  // The format of the API, from the code that produces it.
  const diff = JSON.parse(JSON.stringify({ from: compared, to: compared, identical: false, ...parts }))

  it('shows all of the newer version and the removed parts, each with its mark', () => {
    const { graph, nodeMarks, edgeMarks } = drawDiff(diff, newer)
    expect(Object.fromEntries(nodeMarks)).toEqual({ edit: 'changed', walk: 'moved', new: 'added', gone: 'removed' })
    expect(Object.fromEntries(edgeMarks)).toEqual({ turn: 'changed', g: 'removed' })
    expect(graph.nodes.map(({ id }) => id).sort()).toEqual(['edit', 'gone', 'keep', 'new', 'walk'])
    expect(graph.edges.map(({ id }) => id)).toEqual(['e', 'turn', 'g'])
    const gone = graph.nodes.find(({ id }) => id === 'gone')
    expect(gone?.position.y).toBeGreaterThanOrEqual(64)
  })

  it('lists each change with its JSON pointer', () => {
    const lines = diffLines(diff)
    expect(lines).toContainEqual({
      mark: 'changed',
      kind: 'node',
      id: 'edit',
      path: '/config/condition',
      from: 'a',
      to: 'b',
    })
    expect(lines).toContainEqual({
      mark: 'changed',
      kind: 'edge',
      id: 'turn',
      path: '/target',
      from: 'walk',
      to: 'new',
    })
    expect(lines.filter(({ mark }) => mark === 'moved')).toMatchObject([{ id: 'walk', path: '/position' }])
    expect(lines).toHaveLength(6)
  })
})

describe('the board', () => {
  const request = {
    id: 'pr-1',
    version_id: 'ver-1',
    version: 1,
    from_environment: 'qa' as const,
    to_environment: 'uat' as const,
    status: 'pending' as const,
    requested_by: 'ed',
    requested_at: '2026-01-01T00:00:00.000Z',
  }

  it('offers the moves that an environment allows, and shows who may make them', () => {
    const moves = (environment: Parameters<typeof movesOf>[0]['environment'], role: Parameters<typeof movesOf>[2]) =>
      movesOf({ id: 'ver-2', environment }, [request], role).map(({ transition, step, blockedBy }) => [
        transition,
        step.kind,
        step.to,
        blockedBy?.kind,
      ])
    expect(moves('development', 'DataEngineer')).toEqual([['promote', 'direct', 'qa', undefined]])
    expect(moves('uat', 'DataEngineer')).toEqual([
      ['promote', 'approval', 'production', undefined],
      ['demote', 'direct', 'qa', 'role'],
    ])
    expect(moves('production', 'LeadDataEngineer')).toEqual([['retire', 'direct', 'retired', undefined]])
    expect(moves('retired', 'LeadDataEngineer')).toEqual([])
    expect(moves('qa', 'Auditor')).toEqual([['promote', 'approval', 'uat', 'role']])
  })

  it('keeps a version that waits for approval in its environment', () => {
    const [move] = movesOf({ id: 'ver-1', environment: 'qa' }, [request], 'LeadDataEngineer')
    expect(move?.blockedBy).toEqual({ kind: 'pending', request })
  })

  it('has a gate between neighbours, closed while a request is pending', () => {
    expect(gatesOf([request]).map(({ from, to, kind, waiting }) => [from, to, kind, waiting.length])).toEqual([
      ['development', 'qa', 'open', 0],
      ['qa', 'uat', 'approval', 1],
      ['uat', 'production', 'approval', 0],
      ['production', 'retired', 'lead', 0],
    ])
  })

  it('detects which environments lock a definition', () => {
    const cell = { count: 1 } as never
    expect(lockingEnvironments({ development: cell, production: cell, uat: cell })).toEqual(['uat', 'production'])
    expect(lockingEnvironments({ development: cell, qa: cell })).toEqual([])
  })
})

describe('documents', () => {
  it('are checked before they are sent', () => {
    expect(readDocument('{')).toEqual({ kind: 'not-json' })
    expect(readDocument('[]')).toEqual({ kind: 'not-a-document' })
    expect(readDocument('{"name":"a"}')).toEqual({ kind: 'not-a-document' })
    expect(readDocument('{"name":"a","format_version":2}')).toEqual({ kind: 'newer', formatVersion: 2 })
    expect(readDocument('{"name":"a","format_version":1}')).toMatchObject({ kind: 'document', name: 'a' })
  })

  it('are named after their version', () => {
    expect(exportFileName('Orders / daily', 3)).toBe('Orders-daily-v3.json')
    expect(exportFileName('注文', 1)).toBe('pipeline-v1.json')
  })
})
