import { createMiddleware } from 'hono/factory'
import type { AppEnv } from './app-env.ts'

/** A file of the web page. */
export interface StaticFile {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly contentType: string
  readonly etag: string
}

/** Finds a file of the web page by its URL path, never outside its folder. */
export type StaticFiles = (urlPath: string) => Promise<StaticFile | undefined>

const SERVICE_PATHS = /^\/(api|notebook)(\/|$)/

/** Serves the web page: files by name, else `index.html` to browsers (spec, section 1); never below /api or /notebook. */
export function frontend(files: StaticFiles) {
  return createMiddleware<AppEnv>(async function serveFrontend(c, next) {
    const { path, method } = c.req
    if (SERVICE_PATHS.test(path) || (method !== 'GET' && method !== 'HEAD')) return next()
    const exact = path === '/' ? undefined : await files(path)
    const wantsPage = c.req.header('accept')?.includes('text/html') || path === '/'
    const file = exact ?? (wantsPage ? await files('/index.html') : undefined)
    if (!file) return next()
    const headers = {
      'Content-Type': file.contentType,
      ETag: file.etag,
      'Cache-Control': exact && path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    }
    if (c.req.header('if-none-match') === file.etag) return new Response(null, { status: 304, headers })
    return new Response(method === 'HEAD' ? null : file.bytes, { headers })
  })
}
