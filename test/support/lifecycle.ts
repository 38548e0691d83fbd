import { expect } from 'vitest'
import type { Environment } from '../../src/domain/environments.ts'
import type { Role } from '../../src/domain/roles.ts'
import type { Answer, TestService } from './service.ts'

/** A graph with two steps and a flow between them. */
export const GRAPH = {
  nodes: [
    { id: 'read', type: 'source', config: { table: 'demo.orders', options: { limit: 10 } }, position: { x: 0, y: 0 } },
    { id: 'write', type: 'sink', config: { table: 'demo.copy' }, position: { x: 200, y: 0 } },
  ],
  edges: [{ id: 'flow', source: 'read', target: 'write' }],
}

/** The graph with another limit, which is a change, and a node elsewhere on the canvas, which is a move. */
export const CHANGED_GRAPH = {
  nodes: [
    { ...GRAPH.nodes[0], config: { table: 'demo.orders', options: { limit: 20 } } },
    { ...GRAPH.nodes[1], position: { x: 300, y: 50 } },
    { id: 'audit', type: 'sink', config: {}, position: { x: 300, y: 100 } },
  ],
  edges: [...GRAPH.edges, { id: 'aside', source: 'read', target: 'audit' }],
}

/** One user of a service, with all it does on pipelines. */
export interface Actor {
  readonly user: string
  readonly token: string
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

/** Makes a token for a user and acts with it. */
export async function actor(service: TestService, user: string, role: Role): Promise<Actor> {
  const { body } = await service.post('/api/auth/tokens', { user, role, name: 'test' })
  const token: string = body.token
  return {
    user,
    token,
    call: (method, path, body, headers) =>
      service.call(method, path, { token, ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) }),
  }
}

/** A definition and one of its versions, as paths. */
export interface Place {
  readonly definitionId: string
  readonly versionId: string
  readonly definition: string
  readonly version: string
}

/** The users of a test service and the way of a version through the environments. */
export interface Lifecycle {
  readonly auditor: Actor
  readonly engineer: Actor
  readonly lead: Actor
  readonly otherLead: Actor
  create(name?: string, graph?: object): Promise<Place>
  addVersion(definitionId: string, graph?: object): Promise<Place>
  /** Brings a version from development to where it shall be, by the interface alone. */
  bring(place: Place, environment: Environment): Promise<void>
  /** A new definition with one version there. */
  versionIn(environment: Environment): Promise<Place>
  /** Promotes to where an approval is needed; the id of the request. */
  request(place: Place, by?: Actor): Promise<string>
}

/** Users for a service: `ed` is DataEngineer, `lea` and `leo` are leads, `ann` is Auditor. */
export async function lifecycle(service: TestService): Promise<Lifecycle> {
  const auditor = await actor(service, 'ann', 'Auditor')
  const engineer = await actor(service, 'ed', 'DataEngineer')
  const lead = await actor(service, 'lea', 'LeadDataEngineer')
  const otherLead = await actor(service, 'leo', 'LeadDataEngineer')

  async function create(name = 'orders', graph: object = GRAPH): Promise<Place> {
    const { status, body } = await engineer.call('POST', '/api/pipeline-defs', { name, description: 'd', ...graph })
    expect(status, JSON.stringify(body)).toBe(201)
    return placeOf(body.definition.id, body.version.id)
  }

  async function request(place: Place, by: Actor = engineer): Promise<string> {
    const { status, body } = await by.call('POST', `${place.version}/promote`)
    expect(status, JSON.stringify(body)).toBe(202)
    return body.id
  }

  const approve = async (place: Place): Promise<void> => {
    const id = await request(place)
    expect((await lead.call('POST', `/api/approvals/${id}/approve`, {})).status).toBe(200)
  }

  async function bring(place: Place, environment: Environment): Promise<void> {
    if (environment === 'development') return
    expect((await engineer.call('POST', `${place.version}/promote`)).status).toBe(200)
    if (environment === 'qa') return
    await approve(place)
    if (environment === 'uat') return
    await approve(place)
    if (environment === 'retired') expect((await lead.call('POST', `${place.version}/retire`)).status).toBe(200)
  }

  return {
    auditor,
    engineer,
    lead,
    otherLead,
    create,
    async addVersion(definitionId, graph = GRAPH) {
      const { status, body } = await engineer.call('POST', `/api/pipeline-defs/${definitionId}/versions`, graph)
      expect(status, JSON.stringify(body)).toBe(201)
      return placeOf(definitionId, body.id)
    },
    bring,
    async versionIn(environment) {
      const place = await create()
      await bring(place, environment)
      return place
    },
    request,
  }
}

function placeOf(definitionId: string, versionId: string): Place {
  const definition = `/api/pipeline-defs/${definitionId}`
  return { definitionId, versionId, definition, version: `${definition}/versions/${versionId}` }
}
