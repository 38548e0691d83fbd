import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../errors.ts'

/** A file with documents. */
export interface SourceFile {
  /** With the folder that was given, as messages show it. */
  readonly name: string
  readonly text: string
}

const ENDINGS = /\.(ya?ml|json)$/i
const MAX_BYTES = 32 * 2 ** 20

/**
 * The YAML and JSON files of a folder and of its folders, by name, or the one file. Hidden entries and links to folders are
 * left out. Throws {@link CommandError} for a folder without such files, so that a wrong folder deletes nothing.
 */
export function readFolder(path: string): readonly SourceFile[] {
  const names = attempt(path, () => (statSync(path).isDirectory() ? listed(path) : [path]))
  if (names.length === 0) throw new CommandError(`${path} has no YAML or JSON files`)
  let left = MAX_BYTES
  return names.map((name) => {
    const bytes = attempt(name, () => (statSync(name).size > left ? undefined : readFileSync(name)))
    if (bytes === undefined) throw new CommandError(`the files of ${path} have more than ${MAX_BYTES} bytes`)
    left -= bytes.length
    return { name, text: decoded(name, bytes) }
  })
}

function listed(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'))
  return entries
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return listed(path)
      return ENDINGS.test(entry.name) && isFile(path) ? [path] : []
    })
}

/** Also a link to a file; a link to nothing is a problem of its own. */
function isFile(path: string): boolean {
  return attempt(path, () => !statSync(path).isDirectory())
}

function decoded(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${name} is not valid UTF-8`)
  }
}

function attempt<T>(name: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (code === undefined) throw error
    throw new CommandError(
      code === 'ENOENT' ? `file or folder ${name} does not exist` : `${name} cannot be read: ${code}`,
    )
  }
}
