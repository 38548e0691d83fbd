import { createHash } from 'node:crypto'
import type { StaticFiles } from '../middleware/frontend.ts'

const INDEX = '/index.html'

/**
 * The page for a base path such as `/lake`: the addresses in its `index.html` name the base path. Scripts find each other
 * by their own address, and need no change.
 */
export function pageBelow(basePath: string, files: StaticFiles): StaticFiles {
  if (basePath === '') return files
  return async (urlPath, accepted) => {
    const file = await files(urlPath, urlPath === INDEX ? [] : accepted)
    if (file === undefined || urlPath !== INDEX) return file
    const text = new TextDecoder().decode(file.bytes).replaceAll(/ (href|src)="\//g, ` $1="${basePath}/`)
    const bytes = new Uint8Array(new TextEncoder().encode(text))
    return { ...file, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
  }
}
