import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { StaticFile, StaticFiles } from '../../middleware/frontend.ts'
import { CONTENT_TYPES, SUFFIXES } from '../../server/static-files.ts'

/** A file of the web page inside the executable. */
export interface PageFile {
  /** Where the runtime finds its bytes. */
  readonly path: string
  /** Of its content. */
  readonly etag: string
}

/** Serves the page inside the executable; its files never change. */
export function embeddedPage(page: Readonly<Record<string, PageFile>>): StaticFiles {
  const read = async (urlPath: string): Promise<Pick<StaticFile, 'bytes' | 'etag'> | undefined> => {
    const file = Object.hasOwn(page, urlPath) ? page[urlPath] : undefined
    return file && { bytes: new Uint8Array(await readFile(file.path)), etag: `"${file.etag}"` }
  }
  return async (urlPath, accepted) => {
    const contentType = CONTENT_TYPES[extname(urlPath)]
    if (contentType === undefined) return undefined
    for (const encoding of accepted) {
      const found = await read(urlPath + SUFFIXES[encoding])
      if (found) return { ...found, contentType, encoding }
    }
    const found = await read(urlPath)
    return found && { ...found, contentType }
  }
}
