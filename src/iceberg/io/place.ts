import { locationParts } from './location-identity.ts'
import type { FileIO } from './file-io.ts'

/**
 * A location in canonical form, `scheme://authority/path`: aliases of schemes, repeated slashes, `.` and `..` are resolved,
 * and a missing scheme means `file`. Links are not followed. Object stores distinguish `a//b` from `a/b`, which have the same
 * place here: two files that may be the same are treated as the same.
 */
export function textualPlace(location: string): string {
  const { scheme = 'file', authority = '', path } = locationParts(location)
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  const host = scheme === 'file' ? '' : authority.toLowerCase()
  return `${scheme}://${host}/${segments.join('/')}`
}

/** What knows the places of locations: a FileIO, or something in front of one. */
export type PlaceSource = Pick<FileIO, 'place'>

/** The place of a location, see `FileIO.place`. Never throws for malformed locations. */
export async function placeOf(io: PlaceSource, location: string): Promise<string> {
  return io.place === undefined ? textualPlace(location) : io.place(location)
}

/** Whether a place is the folder or inside it; compared by segment, so `/a/bc` is not inside `/a/b`. */
export function isInside(place: string, folder: string): boolean {
  if (place === folder) return true
  return place.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** The parent folder of a place; the parent of a root is the root. */
export function parentPlace(place: string): string {
  const root = place.indexOf('/', place.indexOf('://') + 3)
  return place.slice(0, Math.max(place.lastIndexOf('/'), root + 1))
}

/** A place without scheme and host: locations of one file may omit them or name different ones. */
export function pathOfPlace(place: string): string {
  return place.slice(place.indexOf('/', place.indexOf('://') + 3))
}

/** Number of folders whose places are cached. */
const MAX_FOLDERS = 50_000

/**
 * Places of many files. Each folder is resolved once; a file that is itself a link has the place of the link, because
 * deleting it deletes the link.
 */
export class FilePlaces {
  readonly #io: PlaceSource
  readonly #folders = new Map<string, Promise<string>>()

  constructor(io: PlaceSource) {
    this.#io = io
  }

  async of(location: string): Promise<string> {
    if (this.#io.place === undefined) return textualPlace(location)
    const slash = location.lastIndexOf('/')
    const name = location.slice(slash + 1)
    if (slash < 1 || name === '' || name === '.' || name === '..') return placeOf(this.#io, location)
    const folder = await this.#folder(location.slice(0, slash))
    return folder.endsWith('/') ? folder + name : `${folder}/${name}`
  }

  #folder(location: string): Promise<string> {
    const known = this.#folders.get(location)
    if (known !== undefined) return known
    if (this.#folders.size >= MAX_FOLDERS) this.#folders.clear()
    const place = placeOf(this.#io, location)
    this.#folders.set(location, place)
    return place
  }
}
