import type { Exchange } from './exchange.ts'

/** Supported content encodings (RFC 9110, section 8.4.1), best first. */
export const ENCODINGS = ['br', 'gzip'] as const

export type Encoding = (typeof ENCODINGS)[number]

/** A file of the web page. */
export interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** Of these bytes: differs for each encoding. */
  readonly etag: string
  readonly encoding?: Encoding
}

/** Finds a file of the web page by its URL path, never outside its folder, in the first available encoding. */
export type StaticFiles = (urlPath: string, accepted: readonly Encoding[]) => Promise<StaticFile | undefined>

const SERVICE_PATHS = /^\/(api|iceberg|notebook|mcp|metrics)(\/|$)/
/** Files that are named after their content. */
const ASSETS = '/assets/'

/**
 * Serves the web page: files by name, else `index.html` to browsers (docs/api.md#web-page); never below /api, /iceberg,
 * /notebook, /mcp or /metrics. A missing asset is 404: `index.html` in its place would be cached for a year. Undefined
 * when the page has nothing to answer.
 */
export async function serveFrontend(exchange: Exchange, files: StaticFiles): Promise<Response | undefined> {
  const { path, method } = exchange
  if (SERVICE_PATHS.test(path) || (method !== 'GET' && method !== 'HEAD')) return undefined
  const file = await findFile(exchange, files)
  if (!file) return undefined
  const headers = {
    ETag: file.etag,
    Vary: 'Accept-Encoding',
    'Cache-Control': path.startsWith(ASSETS) ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
  if (isKnown(exchange.header('if-none-match'), file.etag)) return new Response(null, { status: 304, headers })
  return new Response(method === 'HEAD' ? null : file.bytes, {
    headers: {
      ...headers,
      'Content-Type': file.contentType,
      'Content-Length': String(file.bytes.length),
      ...(file.encoding === undefined ? {} : { 'Content-Encoding': file.encoding }),
    },
  })
}

/** The file of a path, or the page where a browser navigates to a path that names no file. */
async function findFile(exchange: Exchange, files: StaticFiles): Promise<StaticFile | undefined> {
  const { path } = exchange
  const accepted = acceptedEncodings(exchange.header('accept-encoding'))
  const exact = path === '/' ? undefined : await files(path, accepted)
  if (exact || path.startsWith(ASSETS)) return exact
  const wantsPage = path === '/' || exchange.header('accept')?.includes('text/html') === true
  return wantsPage ? files('/index.html', accepted) : undefined
}

/** Encodings that the client accepts (RFC 9110, section 12.5.3), in our order of preference. */
export function acceptedEncodings(header: string | undefined): readonly Encoding[] {
  const weights = new Map<string, number>()
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return ENCODINGS.filter((encoding) => (weights.get(encoding) ?? weights.get('*') ?? 0) > 0)
}

/** Whether the client already has these bytes (RFC 9110, section 13.1.2). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}
