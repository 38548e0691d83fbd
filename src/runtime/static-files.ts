import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import type { StaticFile, StaticFiles } from '../middleware/frontend.ts'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
}

/** The files below the first of `folders` that has an `index.html`; nothing outside it is ever served, links included. */
export async function openStaticFiles(folders: readonly string[]): Promise<StaticFiles> {
  const root = await firstWithIndex(folders)
  if (root === undefined) return async () => undefined
  return async (urlPath) => {
    const path = await resolveInside(root, urlPath)
    return path === undefined ? undefined : readStaticFile(path)
  }
}

async function firstWithIndex(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const found = await stat(join(folder, 'index.html')).catch(() => undefined)
    if (found?.isFile()) return realpath(folder)
  }
  return undefined
}

async function resolveInside(root: string, urlPath: string): Promise<string | undefined> {
  if (!/^(\/[\w@-][\w@.-]*)+$/.test(urlPath)) return undefined // no dot files, no escapes, no empty parts
  const path = await realpath(join(root, urlPath)).catch(() => undefined)
  return path?.startsWith(root + sep) ? path : undefined
}

async function readStaticFile(path: string): Promise<StaticFile | undefined> {
  const contentType = CONTENT_TYPES[extname(path)]
  if (contentType === undefined) return undefined
  const bytes = await readFile(path).catch(() => undefined)
  if (!bytes) return undefined
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes: new Uint8Array(bytes), contentType, etag }
}
