import type { DomainError } from '../../domain/errors.ts'
import { fieldRefusal } from '../../schemas/issues.ts'

/** Folders that may contain checkpoints, and how to resolve links. */
export interface CheckpointRoots {
  /** Absolute path; relative locations are resolved against it. */
  readonly home: string
  /** The warehouse of the current catalog, as a path or `file:` URI. */
  readonly warehouse: string
  /** Resolves every link of a path; the part that does not exist yet is kept. */
  readonly realFolder: (path: string) => Promise<string>
  /** Whether a folder belongs to a table. */
  readonly isTable: (path: string) => Promise<boolean>
  /** Whether a folder contains a checkpoint. */
  readonly isCheckpoint: (path: string) => Promise<boolean>
}

const FIELD = 'checkpoint_location'
const APART = 'must not overlap a table folder: orphan file removal of the table would delete the checkpoint'
/** Folders in `LOCKHOUSE_HOME` that the service uses itself. */
const RESERVED = ['scratch']
const ESCAPES = /%(?:2e|2f|5c|25|00)|\\|\p{Cc}/iu

/**
 * The checkpoint folder that a request names, as a `file:` URI: a path or URI strictly inside the warehouse or
 * `LOCKHOUSE_HOME`, links followed, not in the folder of any table or in another checkpoint, nor around a table at
 * `tableLocations`. `INVALID_REQUEST` naming the field for everything else.
 */
export async function resolveCheckpointLocation(
  text: string,
  roots: CheckpointRoots,
  tableLocations: readonly string[],
): Promise<string> {
  const path = absolutePath(text.trim(), roots.home)
  const allowed = [roots.home, pathOf(roots.warehouse)].filter((root) => root !== undefined)
  if (!allowed.some((root) => isInside(path, root))) throw refuse('must be inside the warehouse or LOCKHOUSE_HOME')
  if (RESERVED.some((name) => path === `${roots.home}/${name}` || isInside(path, `${roots.home}/${name}`))) {
    throw refuse('must not be inside a folder that the service uses itself')
  }
  const real = await follow(path, roots)
  const realRoots = await Promise.all(allowed.map((root) => roots.realFolder(root)))
  const realRoot = realRoots.find((root) => isInside(real, root))
  if (realRoot === undefined) throw refuse('resolves to a folder outside the warehouse and LOCKHOUSE_HOME')
  for (let folder = real; folder !== realRoot; folder = parentOf(folder)) {
    if (await roots.isTable(folder)) throw refuse(APART)
    if (folder !== real && (await roots.isCheckpoint(folder))) {
      throw refuse('must not be inside the checkpoint of another pipeline')
    }
  }
  for (const location of tableLocations) await requireApart(real, location, roots)
  return `file://${path}`
}

async function follow(path: string, { realFolder }: CheckpointRoots): Promise<string> {
  try {
    return await realFolder(path)
  } catch {
    throw refuse('cannot be resolved: part of it is a file, a broken link, or a folder that cannot be read')
  }
}

async function requireApart(real: string, location: string, { realFolder }: CheckpointRoots): Promise<void> {
  const table = pathOf(location)
  if (table === undefined) return
  const realTable = await realFolder(table)
  if (real === realTable || isInside(real, realTable) || isInside(realTable, real)) {
    throw refuse(APART)
  }
}

function absolutePath(text: string, home: string): string {
  if (text === '') throw refuse('must name a folder')
  if (ESCAPES.test(text)) throw refuse('must not contain backslashes, control characters or escaped dots and slashes')
  const path = pathOf(text) ?? relativePath(text, home)
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw refuse('must not contain ".."')
  if (segments.length === 0 || segments.some((segment) => new TextEncoder().encode(segment).length > 200)) {
    throw refuse('is not a folder path')
  }
  return `/${segments.join('/')}`
}

function relativePath(text: string, home: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(text))
    throw refuse('must be a path or a file: URI inside the warehouse or LOCKHOUSE_HOME')
  if (text.startsWith('~')) throw refuse('must not start with "~"')
  return `${home}/${text}`
}

/** The path of an absolute path or `file:` URI of this machine; undefined for anything else. */
function pathOf(location: string): string | undefined {
  if (location.startsWith('/')) return location.length > 1 ? location.replace(/\/+$/, '') || '/' : location
  const path = /^file:(?:\/\/(?:localhost)?)?(\/.*)$/is.exec(location)?.[1]
  if (path === undefined || /^file:\/\/[^/]/i.test(location.replace(/^file:\/\/localhost\//i, 'file:///')))
    return undefined
  return path.replace(/\/+$/, '') || '/'
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'))
}

function isInside(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith('/') ? folder : `${folder}/`) && path !== folder
}

function refuse(rule: string): DomainError {
  return fieldRefusal('INVALID_REQUEST', [{ path: FIELD, message: rule }])
}
