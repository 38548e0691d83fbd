import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'

/** How a file may be stored and sent shorter (RFC 9110, section 8.4.1), best first. */
export const ENCODINGS = ['br', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]

/** A file of the web page. */
export interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** Of these bytes, so another one for each encoding. */
  readonly etag: string
  readonly encoding?: Encoding
}

/** Finds a file of the web page by its URL path, never outside its folder, in the first encoding that there is. */
export type StaticFiles = (urlPath: string, accepted: readonly Encoding[]) => Promise<StaticFile | undefined>

const SERVICE_PATHS = /^\/(api|notebook|mcp)(\/|$)/
/** Files that are named after their content. */
const ASSETS = '/assets/'

/**
 * Serves the web page: files by name, else `index.html` to browsers (spec, section 1); never below /api, /notebook or
 * /mcp. An asset that is gone stays gone: `index.html` in its place would be kept for a year.
 */
export function frontend(files: StaticFiles) {
  return createMiddleware<AppEnv>(async function serveFrontend(c, next) {
    const { path, method } = c.req
    if (SERVICE_PATHS.test(path) || (method !== 'GET' && method !== 'HEAD')) return next()
    const accepted = acceptedEncodings(c.req.header('accept-encoding'))
    const isAsset = path.startsWith(ASSETS)
    const exact = path === '/' ? undefined : await files(path, accepted)
    const wantsPage = !isAsset && (path === '/' || c.req.header('accept')?.includes('text/html') === true)
    const file = exact ?? (wantsPage ? await files('/index.html', accepted) : undefined)
    if (!file) return next()
    const headers = {
      ETag: file.etag,
      Vary: 'Accept-Encoding',
      'Cache-Control': isAsset ? 'public, max-age=31536000, immutable' : 'no-cache',
    }
    if (isKnown(c.req.header('if-none-match'), file.etag)) return new Response(null, { status: 304, headers })
    return new Response(method === 'HEAD' ? null : file.bytes, {
      headers: {
        ...headers,
        'Content-Type': file.contentType,
        'Content-Length': String(file.bytes.length),
        ...(file.encoding === undefined ? {} : { 'Content-Encoding': file.encoding }),
      },
    })
  })
}

/** Encodings that the client takes (RFC 9110, section 12.5.3), best first whatever it prefers: all mean the same bytes. */
export function acceptedEncodings(header: string | undefined): readonly Encoding[] {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return ENCODINGS.filter((encoding) => (weights.get(encoding) ?? weights.get('*') ?? 0) > 0)
}

/** Whether the client has these bytes already (RFC 9110, section 13.1.2). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
