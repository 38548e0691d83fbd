import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canHaveNotebook, notebookBasePath } from '../../src/notebooks/path.ts'
import { proxyPath, withoutToken } from '../../src/notebook-proxy/proxy-path.ts'
import { publicLocation } from '../../src/notebook-proxy/headers/public-location.ts'
import { upstreamHeaders } from '../../src/notebook-proxy/headers/request-headers.ts'
import { originRefusal } from '../../src/notebook-proxy/admission/request-rules.ts'
import { clientHeaders } from '../../src/notebook-proxy/headers/response-headers.ts'
import { runs } from '../support/effort.ts'

const user = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.constantFrom('ana', 'ana@x.example', 'team/ana', 'DOMAIN\\ana', 'a b', '%61na', 'é', "o'brien"),
  )
  .filter(canHaveNotebook)
/** Path segments used in attacks, and ordinary ones. */
const piece = fc.constantFrom(
  '/',
  '\\',
  '%2f',
  '%2F',
  '%5c',
  '%252f',
  '%25',
  '%',
  '.',
  '..',
  '%2e',
  '%252e',
  '%00',
  '%0d%0a',
  ';',
  '?',
  '#',
  'ana',
  'bo',
  'api',
  'notebook',
  '@',
  ':',
  '%c0%af',
  '%ff',
  ' ',
  'é',
  '//',
  '%3f',
)
const hostile = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))

/** How any server might read a path: decoded repeatedly, slash and backslash equal, dot segments resolved. */
function readings(path: string): string[] {
  const found = [path]
  for (let text = path, times = 0; times < 5; times += 1) {
    try {
      text = decodeURIComponent(text)
    } catch {
      break
    }
    found.push(text)
  }
  return found.map((text) => new URL(text.replaceAll('\\', '/').replaceAll('?', '%3F'), 'http://h').pathname)
}

describe('notebook paths', () => {
  it('round-trip for any user', () => {
    fc.assert(
      fc.property(user, fc.array(fc.stringMatching(/^[\w. -]+$/), { maxLength: 4 }), (name, names) => {
        const rest = names.filter((one) => !/^ *\.{1,2} *$/.test(one)).map(encodeURIComponent)
        const path = notebookBasePath(name) + rest.join('/')
        const { pathname } = new URL(`http://h${path}`)
        expect(proxyPath(pathname, name)).toEqual({ kind: 'own', path: pathname })
      }),
    )
  })

  it('stay inside the notebook, however often they are decoded', () => {
    fc.assert(
      fc.property(hostile, (rest) => {
        const { pathname } = new URL(`http://h/notebook/ana/${rest}`)
        const judged = proxyPath(pathname, 'ana')
        if (judged.kind !== 'own') return
        expect(judged.path.startsWith('/notebook/ana/')).toBe(true)
        for (const reading of readings(judged.path)) expect(reading.startsWith('/notebook/ana/')).toBe(true)
      }),
      { numRuns: runs(20_000) },
    )
  })

  it('belong to one user only, however the segment is written', () => {
    fc.assert(
      fc.property(user, user, hostile, (name, other, rest) => {
        fc.pre(name !== other)
        const path = notebookBasePath(other) + rest
        const { pathname } = new URL(`http://h${path}`)
        const segment = pathname.split('/')[2] ?? ''
        const judged = proxyPath(pathname, name)
        if (segment === notebookBasePath(other).split('/')[2]) expect(judged.kind).toBe('foreign')
      }),
    )
  })

  it('accept any encoding of the user’s segment that decodes to it once, and normalise it', () => {
    for (const path of ['/notebook/ana@x/', '/notebook/ana%40x/', '/notebook/%61na%40x/']) {
      expect(proxyPath(path, 'ana@x')).toEqual({ kind: 'own', path: '/notebook/ana%40x/' })
    }
    expect(proxyPath('/notebook/team%2Fana/api', 'team/ana')).toEqual({ kind: 'own', path: '/notebook/team%2Fana/api' })
  })
})

describe('queries', () => {
  it('keep everything except tokens unchanged', () => {
    const cases = {
      '': '',
      '?': '',
      '?token=x': '',
      '?a=1&token=x&b=%2F': '?a=1&b=%2F',
      '?tok%65n=x&a': '?a',
      '?TOKEN=x&+token=x&token': '',
      '?tokens=1&xtoken=2&a=token=3': '?tokens=1&xtoken=2&a=token=3',
      '?a=%zz&%zz=token': '?a=%zz&%zz=token',
      '?a&&b=': '?a&&b=',
    }
    for (const [search, expected] of Object.entries(cases))
      expect([search, withoutToken(search)]).toEqual([search, expected])
  })
})

describe('redirects of a notebook', () => {
  const place = {
    user: 'ana',
    requested: new URL('http://h:3000/notebook/ana/lab/x'),
    basePath: '',
    baseUrl: 'http://10.1.2.3:8888',
  }

  it('never point to the service outside the notebook', () => {
    const start = fc.constantFrom(
      '',
      '/',
      '//h:3000/',
      'http://h:3000/',
      'http://10.1.2.3:8888/',
      'https://h/',
      '\\\\h\\',
      '///',
    )
    fc.assert(
      fc.property(start, hostile, fc.constantFrom('GET', 'POST'), (before, rest, method) => {
        const location = publicLocation(before + rest, { ...place, method })
        if (location === undefined) return
        const target = new URL(location, place.requested)
        if (target.hostname !== 'h' && target.hostname !== '10.1.2.3') {
          expect(method).toBe('GET')
          return
        }
        expect(target.host).toBe('h:3000')
        for (const reading of readings(target.pathname)) expect(reading.startsWith('/notebook/ana/')).toBe(true)
      }),
      { numRuns: runs(20_000) },
    )
  })
})

describe('headers', () => {
  const names = fc.constantFrom(
    'Cookie',
    'Authorization',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'Forwarded',
    'X-Real-IP',
    'Connection',
    'Transfer-Encoding',
    'TE',
    'Upgrade',
    'Keep-Alive',
    'Proxy-Authorization',
    'Host',
    'Content-Length',
    'X-Other',
    'Set-Cookie',
    'Location',
    'Clear-Site-Data',
    'Service-Worker-Allowed',
    'Access-Control-Allow-Origin',
    'Content-Security-Policy',
    'Cross-Origin-Opener-Policy',
    'X-Accel-Redirect',
    'Sec-WebSocket-Protocol',
  )
  const values = fc.constantFrom(
    'lockhouse_session=s3cret',
    'a=1; lockhouse_session=s3cret',
    'a=1; __Host-Http-lockhouse_session=s3cret',
    'Bearer s3cret',
    'close',
    'X-Other',
    's3cret',
    'Authorization, Cookie',
    'chunked',
    '10',
    '*',
    '/',
    'default-src *; frame-ancestors *',
    'unsafe-none',
    'lockhouse_session=s3cret; Path=/',
    'x=s3cret; Domain=h',
    'x=1; Path=/notebook/ana/',
  )
  const headers = fc.array(fc.tuple(names, values), { maxLength: 12 }).map((pairs) => {
    const all = new Headers()
    for (const [name, value] of pairs) all.append(name, value)
    return all
  })

  it('of requests contain no credential of the service and no framing of the client', () => {
    const forwarding = { host: 'h:3000', secure: true, prefix: '/notebook/ana/', token: 'nb-token' }
    fc.assert(
      fc.property(headers, fc.boolean(), (incoming, hasBody) => {
        const sent = upstreamHeaders(incoming, forwarding, hasBody)
        expect(sent.get('authorization')).toBe('token nb-token')
        expect(sent.get('host')).toBe('h:3000')
        expect(sent.get('x-forwarded-host')).toBe('h:3000')
        expect(sent.get('x-forwarded-for')).toBeNull()
        expect(sent.get('cookie') ?? '').not.toContain('lockhouse')
        for (const name of ['connection', 'transfer-encoding', 'te', 'upgrade', 'keep-alive', 'proxy-authorization']) {
          expect([name, sent.has(name)]).toEqual([name, false])
        }
      }),
    )
  })

  it('of responses affect the notebook only', () => {
    const place = { isolation: 'path', host: 'h:3000', basePath: '', prefix: '/notebook/ana/' } as const
    fc.assert(
      fc.property(headers, (answered) => {
        const shown = clientHeaders(answered, place)
        for (const cookie of shown.getSetCookie()) {
          expect(cookie).not.toMatch(/^lockhouse|domain=|path=\/(;|$)/i)
        }
        expect(shown.get('content-security-policy')).toContain(
          "frame-ancestors 'none'; connect-src http://h:3000/notebook/ana/",
        )
        expect(shown.get('cross-origin-opener-policy')).toBe('same-origin')
        for (const name of [
          'clear-site-data',
          'service-worker-allowed',
          'access-control-allow-origin',
          'x-accel-redirect',
        ]) {
          expect([name, shown.has(name)]).toEqual([name, false])
        }
      }),
    )
  })
})

describe('request origins', () => {
  const nothing = new Set<string>()

  it('must match the host or be allowed when Sec-Fetch-Site is absent', () => {
    const ask = (origin: string | undefined, upgrade: boolean, bearer = false): boolean =>
      originRefusal(
        {
          method: upgrade ? 'GET' : 'POST',
          upgrade,
          host: 'h:3000',
          bearer,
          headers: new Headers(origin ? { origin } : {}),
        },
        new Set(['http://localhost:5173']),
      ) === undefined
    for (const upgrade of [true, false]) {
      expect(ask('http://h:3000', upgrade)).toBe(true)
      expect(ask('https://H:3000', upgrade)).toBe(true)
      expect(ask('http://localhost:5173', upgrade)).toBe(true)
      expect(ask('http://h', upgrade)).toBe(false)
      expect(ask('ftp://h:3000', upgrade)).toBe(false)
      expect(ask(undefined, upgrade)).toBe(false)
    }
    expect(ask(undefined, false, true)).toBe(true)
    expect(ask(undefined, true, true)).toBe(true)
    expect(ask('http://evil.example', true, true)).toBe(false)
    expect(ask('http://evil.example', false, true)).toBe(false)
  })

  it('are refused for any request with an effect when Sec-Fetch-Site is not same-origin', () => {
    const site = fc.constantFrom('cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin, same-origin')
    const mode = fc.constantFrom('navigate', 'cors', 'no-cors', 'same-origin', 'websocket')
    const dest = fc.constantFrom('document', 'empty', 'iframe', 'image')
    const method = fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'get', 'socket')
    fc.assert(
      fc.property(fc.tuple(site, mode, dest), method, ([secSite, secMode, secDest], verb) => {
        const upgrade = verb === 'socket'
        const headers = new Headers({ 'sec-fetch-site': secSite, 'sec-fetch-mode': secMode, 'sec-fetch-dest': secDest })
        const request = { method: upgrade ? 'GET' : verb, upgrade, host: 'h', bearer: true, headers }
        expect(originRefusal(request, nothing)).toBeDefined()
      }),
    )
  })
})
