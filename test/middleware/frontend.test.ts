import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app.ts'
import { acceptedEncodings, type StaticFiles } from '../../src/middleware/frontend.ts'
import { startTestService, testApp, type TestService } from '../support/service.ts'

const FILES: Readonly<Record<string, string>> = {
  '/index.html': '<!doctype html><div id="root"></div>',
  '/assets/index-abc.js': 'export {}',
}

/** Files in memory. Scripts also have a shorter encoded form. */
const files: StaticFiles = async (path, accepted) => {
  const text = FILES[path]
  if (text === undefined) return undefined
  const script = path.endsWith('.js')
  const encoding = script ? accepted[0] : undefined
  return {
    bytes: new TextEncoder().encode(encoding === undefined ? text : `${encoding} of ${text}`),
    contentType: script ? 'text/javascript; charset=utf-8' : 'text/html; charset=utf-8',
    etag: `"${path} ${encoding ?? ''}"`,
    ...(encoding === undefined ? {} : { encoding }),
  }
}

describe('the web page', () => {
  let service: TestService
  let ask: (path: string, headers?: Record<string, string>, method?: string) => Promise<Response>

  beforeAll(async () => {
    service = await startTestService()
    const app = testApp(createApp({ ...service.context.app, staticFiles: files }))
    ask = async (path, headers = {}, method = 'GET') => app.request(path, { method, headers })
  })
  afterAll(() => service.close())

  test.each(['/', '/tables', '/tables/demo.orders', '/definitions/def-1', '/apiary', '/notebooks'])(
    '%s returns the page to browsers',
    async (path) => {
      const answer = await ask(path, { accept: 'text/html,*/*' })
      expect(answer.status).toBe(200)
      expect(await answer.text()).toBe(FILES['/index.html'])
      expect(answer.headers.get('cache-control')).toBe('no-cache')
    },
  )

  test('a program that does not accept HTML does not get the page', async () => {
    const answer = await ask('/tables', { accept: 'application/json' })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
  })

  test.each(['/api/nothing', '/api', '/notebook/ana/lab', '/mcp/nothing'])(
    '%s never returns the page',
    async (path) => {
      const answer = await ask(path, { accept: 'text/html' })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(await answer.text()).not.toContain('<div')
    },
  )

  test('assets may be cached permanently, in an encoding that the client accepts', async () => {
    const answer = await ask('/assets/index-abc.js', { 'accept-encoding': 'gzip, deflate, br' })
    expect(answer.headers.get('content-encoding')).toBe('br')
    expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(await answer.text()).toBe('br of export {}')
    const plain = await ask('/assets/index-abc.js')
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(plain.headers.get('vary')).toBe('Accept-Encoding')
  })

  test('a missing asset is 404, even for a browser that accepts HTML', async () => {
    const answer = await ask('/assets/index-old.js', { accept: 'text/html,*/*' })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('cache-control') ?? '').not.toContain('immutable')
  })

  test('unchanged files are answered with 304', async () => {
    const { headers } = await ask('/assets/index-abc.js', { 'accept-encoding': 'br' })
    const etag = headers.get('etag') ?? ''
    const again = await ask('/assets/index-abc.js', { 'accept-encoding': 'br', 'if-none-match': `"other", W/${etag}` })
    expect(again.status).toBe(304)
    expect(await again.text()).toBe('')
    expect(again.headers.get('etag')).toBe(etag)
    expect(again.headers.get('vary')).toBe('Accept-Encoding')
    const otherEncoding = await ask('/assets/index-abc.js', { 'accept-encoding': 'gzip', 'if-none-match': etag })
    expect(otherEncoding.status).toBe(200)
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const answer = await ask('/', { accept: 'text/html' }, 'HEAD')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-length')).toBe(String(FILES['/index.html']?.length))
    expect(await answer.text()).toBe('')
  })

  test('other methods do not return the page', async () => {
    expect((await ask('/tables', { accept: 'text/html' }, 'POST')).status).toBe(404)
  })

  test('scripts may only come from files of the service', async () => {
    const policy = (await ask('/', { accept: 'text/html' })).headers.get('content-security-policy') ?? ''
    const directives = new Map(
      policy.split('; ').map((directive) => {
        const [name = '', ...sources] = directive.split(' ')
        return [name, sources.join(' ')] as const
      }),
    )
    expect(directives.get('script-src')).toBe("'self'")
    expect(directives.get('default-src')).toBe("'self'")
    expect(directives.get('connect-src')).toBe("'self'")
    expect(directives.get('img-src')).toBe("'self' data:")
    expect(directives.get('object-src')).toBe("'none'")
    expect(directives.get('frame-ancestors')).toBe("'none'")
  })
})

test.each([
  [undefined, []],
  ['identity', []],
  ['gzip', ['gzip']],
  ['gzip, deflate, br, zstd', ['br', 'gzip']],
  ['GZIP;q=1.0, br;q=0', ['gzip']],
  ['*', ['br', 'gzip']],
  ['br;q=0, *', ['gzip']],
])('%j accepts %j', (header, encodings) => {
  expect(acceptedEncodings(header)).toEqual(encodings)
})
