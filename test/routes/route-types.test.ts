import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { hasRole, type Role } from '../../src/domain/roles.ts'
import { publicRoute, requestContext, route } from '../../src/routes/routing/route.ts'

/** Checked by tsc, not run: a line under `@ts-expect-error` that compiles is a type error. */
const shape = { method: 'get', path: '/api/things', operationId: 'getThing', summary: 'A thing' } as const
const thing = z.object({ id: z.string(), rows: z.array(z.object({ count: z.int() })), note: z.string().optional() })
const found = { 200: { description: 'The thing', schema: thing } }
const member = { ...shape, minRole: 'Auditor' } as const

describe('the type of a route', () => {
  it('accepts only the answers that its schemas describe', () => {
    const right = route({ ...member, responses: found })
    const routes = [
      right.handle(async () => ({ status: 200, body: { id: 'a', rows: [{ count: 1 }] as const } })),
      // @ts-expect-error -- a field of another type
      right.handle(async () => ({ status: 200, body: { id: 1, rows: [] } })),
      // @ts-expect-error -- a nested field of another type
      right.handle(async () => ({ status: 200, body: { id: 'a', rows: [{ count: '1' }] } })),
      // @ts-expect-error -- a missing field
      right.handle(async () => ({ status: 200, body: { id: 'a' } })),
      // @ts-expect-error -- no body
      right.handle(async () => ({ status: 200 })),
      // @ts-expect-error -- a status that the route does not declare
      right.handle(async () => ({ status: 201, body: { id: 'a', rows: [] } })),
      // @ts-expect-error -- a whole response, which is not checked
      right.handle(async () => Response.json({ id: 'a', rows: [] })),
      // @ts-expect-error -- a value of an unknown type
      right.handle(async () => ({ status: 200, body: JSON.parse('{}') as unknown })),
    ]
    expect(routes).toHaveLength(8)
  })

  it('distinguishes its statuses', () => {
    const two = route({ ...member, responses: { ...found, 204: { description: 'Nothing' } } })
    const routes = [
      two.handle(async () => ({ status: 204 })),
      // @ts-expect-error -- a body where the route declares none
      two.handle(async () => ({ status: 204, body: { id: 'a', rows: [] } })),
      // @ts-expect-error -- an error status: throw the error instead
      route({ ...member, responses: { 404: { description: 'No thing' } } }).handle(async () => ({ status: 404 })),
    ]
    expect(routes).toHaveLength(3)
  })

  it('accepts a whole response only when the route declares a stream', () => {
    const streamed = { 200: { ...found[200], contentType: 'text/event-stream' } }
    const routes = [
      route({ ...member, responses: { 200: { ...found[200], orEventStream: true } } }).handle(
        async () => new Response(''),
      ),
      route({ ...member, responses: streamed }).handle(async () => new Response('')),
      // @ts-expect-error -- JSON where the route declares another content type
      route({ ...member, responses: streamed }).handle(async () => ({ status: 200, body: { id: 'a', rows: [] } })),
    ]
    expect(routes).toHaveLength(3)
  })

  it('has a caller when the route has a role, and no caller otherwise', () => {
    const responses = { 204: { description: 'Nothing' } }
    const routes = [
      route({ ...member, responses }).handle(async (input) => {
        const role: Role = input.caller.role
        return {
          status: 204,
          headers: { allowed: String(hasRole(role, 'Auditor')), by: requestContext(input).caller.user },
        }
      }),
      // @ts-expect-error -- a route that anyone may call has no caller
      publicRoute({ ...shape, responses }).handle(async ({ caller }) => ({
        status: 204,
        headers: { by: caller.user },
      })),
      publicRoute({ ...shape, responses }).handle(async (input) => {
        // @ts-expect-error -- without a caller there is no actor for the audit log
        requestContext(input)
        return { status: 204 }
      }),
      // @ts-expect-error -- the role is missing
      route({ ...shape, responses }).handle(async () => ({ status: 204 })),
      // @ts-expect-error -- `none` is not a role
      route({ ...shape, minRole: 'none', responses }).handle(async () => ({ status: 204 })),
    ]
    expect(routes).toHaveLength(5)
  })

  it('has the parts of the request for which it has schemas', () => {
    const responses = { 204: { description: 'Nothing' } }
    const params = z.strictObject({ thing_id: z.string() })
    const query = z.strictObject({ limit: z.coerce.number() })
    const checked = route({ ...member, params, query, responses })
    const routes = [
      checked.handle(async (input) => {
        const id: string = input.params.thing_id
        const limit: number = input.query.limit
        return { status: 204, headers: { id, limit: String(limit) } }
      }),
      // @ts-expect-error -- a parameter that the path does not have
      checked.handle(async ({ params: { other_id: id } }) => ({ status: 204, headers: { id } })),
      // @ts-expect-error -- a body that the route does not accept
      checked.handle(async ({ body }) => ({ status: 204, headers: { id: body.id } })),
    ]
    expect(routes).toHaveLength(3)
  })
})
