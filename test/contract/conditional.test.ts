import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const definition = (name: string) => ({ name, description: '', nodes: [], edges: [] })
const names = async () => (await service.get('/api/pipeline-defs')).body.map(({ name }: { name: string }) => name)

describe('repeated requests', () => {
  it('have one effect and one answer, for 500 requests with 50 keys in any order and concurrently', async () => {
    const work = Array.from({ length: 500 }, (_, i) => i % 50).sort(() => Math.random() - 0.5)
    const send = (key: number) =>
      service.post('/api/pipeline-defs', definition(`key-${key}`), { headers: { 'Idempotency-Key': `key-${key}` } })
    const first = await Promise.all(work.map(send))
    expect(first.every(({ status }) => status === 201 || status === 409)).toBe(true)
    const again = await Promise.all(Array.from({ length: 50 }, (_, key) => send(key)))
    for (const [key, answer] of again.entries()) {
      expect(answer.headers.get('idempotent-replayed')).toBe('true')
      const same = first.filter((other, i) => work[i] === key && other.status === 201)
      expect(same.length).toBeGreaterThan(0)
      for (const other of same) expect(other.body).toEqual(answer.body)
    }
    const made = (await names()).filter((name: string) => name.startsWith('key-'))
    expect(made).toHaveLength(50)
    expect(new Set(made).size).toBe(50)
  })

  it('separate the keys of users, and refuse another request with a used key', async () => {
    const { body } = await service.post('/api/auth/tokens', { user: 'bob', role: 'DataEngineer', name: 'x' })
    const headers = { 'Idempotency-Key': 'mine' }
    const ours = await service.post('/api/pipeline-defs', definition('apart'), { headers })
    const theirs = await service.post('/api/pipeline-defs', definition('apart'), { headers, token: body.token })
    expect(theirs.body.definition.id).not.toBe(ours.body.definition.id)
    expect((await service.post('/api/pipeline-defs', definition('other'), { headers })).status).toBe(422)
    expect((await service.post('/api/pipeline-defs/import', definition('apart'), { headers })).status).toBe(422)
  })

  it('tell apart requests that differ in their query only', async () => {
    const headers = { 'Idempotency-Key': 'query' }
    const validate = (environment: string) =>
      service.post(`/api/pipeline-defs/0/versions/0/validate?environment=${environment}`, {}, { headers })
    expect((await validate('anything')).status).toBe(400)
    expect((await validate('qa')).status).toBe(422)
    expect((await validate('anything')).headers.get('idempotent-replayed')).toBe('true')
  })

  it('run again after a temporary refusal, and get the same answer after a permanent one', async () => {
    const headers = { 'Idempotency-Key': 'later' }
    const wrong = await service.post('/api/pipeline-defs', { name: 1 }, { headers })
    expect(wrong.status).toBe(400)
    const again = await service.post('/api/pipeline-defs', { name: 1 }, { headers })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('content-type')).toBe('application/problem+json')
  })
})

describe('conditional requests', () => {
  it('change the configuration only if it is as the caller read it', async () => {
    const { headers, body } = await service.get('/api/config')
    const etag = headers.get('etag') ?? ''
    expect(etag).toMatch(/^"\d+"$/)
    const put = (tag: string) => service.call('PUT', '/api/config', { body, headers: { 'If-Match': tag } })
    expect((await put('"99"')).status).toBe(412)
    expect((await put(`W/${etag}`)).status).toBe(412)
    const changed = await put(`"99", ${etag}`)
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(etag)
    const stale = await put(etag)
    expect({ status: stale.status, code: stale.body.code }).toEqual({ status: 412, code: 'PRECONDITION_FAILED' })
    expect((await put('*')).status).toBe(200)
  })

  it('succeed for only one of many callers with the same version', async () => {
    const { body } = await service.post('/api/pipeline-defs', definition('race'))
    const path = `/api/pipeline-defs/${body.definition.id}`
    const etag = (await service.get(path)).headers.get('etag') ?? ''
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        service.call('PUT', path, { body: { description: `by ${i}` }, headers: { 'If-Match': etag } }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(49)
  })

  it('answer 304 to a caller with the current version', async () => {
    const etag = (await service.get('/api/config')).headers.get('etag') ?? ''
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const answer = await service.get('/api/config', { headers: { 'If-None-Match': tag } })
      expect({ tag, status: answer.status, body: answer.body }).toEqual({ tag, status: 304, body: '' })
    }
    expect((await service.get('/api/config', { headers: { 'If-None-Match': '"x"' } })).status).toBe(200)
  })
})
