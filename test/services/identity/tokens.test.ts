import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const create = (expiresAt: string | null) =>
  service.post('/api/auth/tokens', { user: 'ada', role: 'Auditor', name: 'x', expires_at: expiresAt })

describe('the expiry of a token', () => {
  it.each([-1000, -86_400_000, 0])('%d ms from now is refused, and no token is created', async (ms) => {
    const before = (await service.get('/api/auth/tokens')).body.length
    const { status, body } = await create(new Date(Date.now() + ms).toISOString())
    expect({ status, code: body.code, path: body.errors?.[0]?.path }).toEqual({
      status: 400,
      code: 'INVALID_REQUEST',
      path: 'expires_at',
    })
    expect((await service.get('/api/auth/tokens')).body).toHaveLength(before)
  })

  it('is in the future, or absent', async () => {
    expect((await create(new Date(Date.now() + 60_000).toISOString())).status).toBe(201)
    expect((await create(null)).status).toBe(201)
  })
})
