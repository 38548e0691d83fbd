import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'

import { LRUCache } from 'lru-cache'

import type { Encoding, StaticFile, StaticFiles } from '../middleware/frontend.ts'

/** By the ending of a file's name. */
export const CONTENT_TYPES: Readonly<Record<string, string>> = {
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

/** Suffixes of the compressed files that the build writes. */
export const SUFFIXES: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }
/** Total bytes of files cached in memory; the current page is a tenth of it. */
const MAX_KEPT_BYTES = 32 * 2 ** 20

interface KeptFile {
  /** Size and time of the file as it was read. */
  readonly version: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly etag: string
}

/** The files below the first of `folders` that has an `index.html`; nothing outside it is ever served, links included. */
export async function openStaticFiles(folders: readonly string[]): Promise<StaticFiles> {
  const root = await firstWithIndex(folders)
  if (root === undefined) return async () => undefined
  const read = keepingReader()
  return async (urlPath, accepted) => {
    const contentType = CONTENT_TYPES[extname(urlPath)]
    if (contentType === undefined) return undefined
    const path = await resolveInside(root, urlPath)
    if (path === undefined) return undefined
    return (await findEncoded(read, path, { accepted, contentType })) ?? withType(await read(path), contentType)
  }
}

type ReadFile = (path: string) => Promise<KeptFile | undefined>

async function findEncoded(
  read: ReadFile,
  path: string,
  { accepted, contentType }: { readonly accepted: readonly Encoding[]; readonly contentType: string },
): Promise<StaticFile | undefined> {
  for (const encoding of accepted) {
    const found = withType(await read(path + SUFFIXES[encoding]), contentType)
    if (found) return { ...found, encoding }
  }
  return undefined
}

function withType(file: KeptFile | undefined, contentType: string): StaticFile | undefined {
  return file && { bytes: file.bytes, etag: file.etag, contentType }
}

async function firstWithIndex(folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    if (await hasIndex(folder)) return realpath(folder)
  }
  return undefined
}

/** Whether a folder contains a page. */
export async function hasIndex(folder: string): Promise<boolean> {
  const found = await stat(join(folder, 'index.html')).catch(() => undefined)
  return found?.isFile() === true
}

async function resolveInside(root: string, urlPath: string): Promise<string | undefined> {
  if (!/^(\/[\w@-][\w@.-]*)+$/.test(urlPath)) return undefined // no dot files, no escapes, no empty parts
  const path = await realpath(join(root, urlPath)).catch(() => undefined)
  return path?.startsWith(root + sep) ? path : undefined
}

/** Reads files and caches them until they change. */
function keepingReader(): ReadFile {
  const kept = new LRUCache<string, KeptFile>({ maxSize: MAX_KEPT_BYTES })
  return async (path) => {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile()) return undefined
    const version = `${found.size} ${found.mtimeMs}`
    const known = kept.get(path)
    if (known?.version === version) return known
    const bytes = new Uint8Array(await readFile(path))
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    const file = { version, bytes, etag }
    kept.set(path, file, { size: bytes.length + 1 })
    return file
  }
}
