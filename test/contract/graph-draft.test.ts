import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { actor, type Actor } from '../support/lifecycle.ts'
import { startTestService, type TestService } from '../support/service.ts'

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

  it('tells the same problems as the validation of the version that it becomes', async () => {
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

  it('refuses what could not be saved either, and keeps nothing', async () => {
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
