import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor, type Actor } from '../../support/lifecycle.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const EVENTS = { commits: 1, filesPerCommit: 1, rowsPerFile: 10 }

describe('validation of a graph that is not saved', () => {
  let service: TestService
  let engineer: Actor
  beforeAll(async () => {
    service = await startTestService({ events: EVENTS })
    engineer = await actor(service, 'ed', 'DataEngineer')
  })
  afterAll(() => service.close())

  const node = (id: string, type: string, config: object) => ({ id, type, config, position: { x: 0, y: 0 } })
  const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target })

  it('reports the same problems as the validation of the later version', async () => {
    const graph = {
      nodes: [
        node('in', 'iceberg-source', { table: 'demo.events' }),
        node('pick', 'filter', { condition: 'no_such_column > 1' }),
        node('out', 'iceberg-sink', { table: 'demo.none' }),
      ],
      edges: [edge('in', 'pick'), edge('pick', 'out')],
    }
    const draft = await engineer.call('POST', '/api/pipeline-defs/validate', graph)
    expect(draft.status).toBe(200)
    expect(draft.body.runnable).toBe(false)
    expect(draft.body.spark_problems).toBeNull() // there is no Spark server
    expect(draft.body.problems.map(({ node_id: at, code }: { node_id: string; code: string }) => [at, code])).toEqual(
      expect.arrayContaining([
        ['pick', 'INVALID_SQL'],
        ['out', 'NO_SUCH_TABLE'],
      ]),
    )
    const made = await engineer.call('POST', '/api/pipeline-defs', { name: 'draft', ...graph })
    const { definition, version } = made.body
    const path = `/api/pipeline-defs/${definition.id}/versions/${version.id}/validate`
    const saved = await engineer.call('POST', path, {})
    expect(saved.body).toEqual({ ...draft.body, definition_id: definition.id, version_id: version.id })
  })

  it('refuses graphs that could not be saved, and stores nothing', async () => {
    const before = (await engineer.call('GET', '/api/pipeline-defs')).body
    const looped = {
      nodes: [node('a', 'filter', {}), node('b', 'filter', {})],
      edges: [edge('a', 'b'), edge('b', 'a')],
    }
    const answer = await engineer.call('POST', '/api/pipeline-defs/validate', looped)
    expect([answer.status, answer.body.code]).toEqual([422, 'INVALID_GRAPH'])
    expect((await engineer.call('GET', '/api/pipeline-defs')).body).toEqual(before)
  })
})

describe('the table that a version writes', () => {
  let service: TestService
  let engineer: Actor
  beforeAll(async () => {
    service = await startTestService({ events: EVENTS, env: { SPARK_REMOTE: 'sc://127.0.0.1:9' } })
    engineer = await actor(service, 'ed', 'DataEngineer')
  })
  afterAll(() => service.close())

  const node = (id: string, type: string, config: object) => ({ id, type, config, position: { x: 0, y: 0 } })
  const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target })
  const versionOf = async (query: string, sink: string): Promise<string> => {
    const made = await engineer.call('POST', '/api/pipeline-defs', {
      name: 'sink',
      nodes: [
        node('in', 'iceberg-source', { table: 'demo.events' }),
        node('shape', 'sql', { query }),
        node('out', 'iceberg-sink', { table: sink }),
      ],
      edges: [edge('in', 'shape'), edge('shape', 'out')],
    })
    return `/api/pipeline-defs/${made.body.definition.id}/versions/${made.body.version.id}`
  }
  const SHAPES =
    "SELECT id, kind, amount, CAST(occurred_at AS DATE) AS day, {'a': id, 'b': [kind]} AS nested, map {'x': 1} AS m FROM input"

  it('is created from the columns that reach it, and then the version can run', async () => {
    const version = await versionOf(SHAPES, 'made.here.sink')
    const before = await engineer.call('POST', `${version}/validate`, {})
    expect(before.body.problems.map(({ code }: { code: string }) => code)).toEqual(['NO_SUCH_TABLE'])
    expect(before.body.sink_columns).toHaveLength(6)
    const made = await engineer.call('POST', `${version}/sink-table`, {})
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    expect(made.body.table).toBe('made.here.sink')
    expect(made.body.columns).toEqual(before.body.sink_columns)
    const schema = await engineer.call('GET', '/api/table/made.here.sink/schema')
    const top = schema.body.columns.filter(({ path }: { path: string }) => !path.includes('.'))
    expect(top.map(({ name, type }: { name: string; type: string }) => ({ name, type }))).toEqual(made.body.columns)
    const ids = schema.body.columns.map(({ id }: { id: number }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const after = await engineer.call('POST', `${version}/validate`, {})
    expect([after.body.runnable, after.body.problems]).toEqual([true, []])
    const started = await engineer.call('POST', '/api/pipeline/start', {
      version_id: version.split('/').at(-1),
      checkpoint_location: 'checkpoints/made',
      trigger_interval: '1 s',
    })
    expect(started.status, JSON.stringify(started.body)).toBe(200)
    const again = await engineer.call('POST', `${version}/sink-table`, {})
    expect([again.status, again.body.code]).toEqual([409, 'TABLE_EXISTS'])
    const { body: audit } = await service.get('/api/audit?action=table.create')
    expect(audit.map(({ actor: who, outcome }: { actor: string; outcome: string }) => [who, outcome])).toContainEqual([
      'ed',
      'done',
    ])
  })

  it('says with the validation why Spark cannot run a version, by node, before anything starts', async () => {
    const sparkProblems = async (source: object, query: string, sink: object) => {
      const { body } = await engineer.call('POST', '/api/pipeline-defs/validate', {
        nodes: [
          node('in', 'iceberg-source', { table: 'demo.events', ...source }),
          node('shape', 'sql', { query }),
          node('out', 'iceberg-sink', { table: 'demo.for_spark', ...sink }),
        ],
        edges: [edge('in', 'shape'), edge('shape', 'out')],
      })
      return body.spark_problems
    }
    expect(await sparkProblems({}, 'SELECT id, kind FROM input WHERE id > 1', {})).toEqual([])
    expect(await sparkProblems({}, 'SELECT id, upper(kind) AS kind FROM input', {})).toEqual([
      'node shape: Spark may compute upper() differently; use the embedded engine',
    ])
    const mirror = [{ read: 'changes', key: ['id'] }, 'SELECT * FROM input', { write: 'mirror', key: ['id'] }] as const
    expect(await sparkProblems(...mirror)).toEqual([
      expect.stringMatching(/^node in: read is "changes", .*; use the embedded engine$/),
      expect.stringMatching(/^node out: write is "mirror", .*; use the embedded engine$/),
    ])
    expect(await sparkProblems({}, 'SELECT no_such_column FROM input', {})).toBeNull()
  })

  it('is not created for a version with other problems, or for columns that no table can have', async () => {
    const broken = await versionOf('SELECT no_such_column FROM input', 'demo.broken')
    expect((await engineer.call('POST', `${broken}/sink-table`, {})).status).toBe(422)
    const huge = await versionOf('SELECT CAST(id AS HUGEINT) AS big FROM input', 'demo.huge')
    expect((await engineer.call('POST', `${huge}/sink-table`, {})).status).toBe(422)
    const { body } = await engineer.call('GET', '/api/tables')
    const names = body.tables.map(({ table }: { table: string }) => table)
    expect(names).not.toContain('demo.broken')
    expect(names).not.toContain('demo.huge')
  })
})
