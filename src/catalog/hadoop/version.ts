import type { FileIO } from '../../iceberg/io/file-io.ts'
import { fileNames } from '../../iceberg/io/file-names.ts'
import { VERSION_NAME, versionOf } from '../ownership/version-name.ts'
import { hintedVersion, readHint } from './hint.ts'

/** The current metadata file of a table folder. */
export interface HadoopVersion {
  readonly location: string
  /**
   * The N of `vN.metadata.json`; undefined for the name of a metastore catalog (`NNNNN-uuid.metadata.json`), which
   * can be read but has no next version name that only one commit can create.
   */
  readonly version: number | undefined
}

/** Endings of a version's metadata file, in the order in which Iceberg's own catalog looks for them. */
const SUFFIXES = ['.metadata.json', '.gz.metadata.json', '.metadata.json.gz'] as const

const METASTORE_NAME = /^(\d{1,15})-.+\.metadata\.json(?:\.gz)?$/

/**
 * The current version of the table in `metadataFolder` (Iceberg spec, "File System Tables"): the hint's, or any newer
 * one that follows it without a gap; without a usable hint, the highest in the folder. Undefined when there is none.
 */
export async function findHadoopVersion(io: FileIO, metadataFolder: string): Promise<HadoopVersion | undefined> {
  const hint = await readHint(io, metadataFolder)
  if (hint !== undefined) {
    const version = hintedVersion(hint)
    const hinted =
      version === undefined ? await namedFile(io, metadataFolder, hint) : await probeFrom(io, metadataFolder, version)
    if (hinted !== undefined) return hinted
  }
  return highestVersion(io, metadataFolder)
}

/**
 * The current version, given an earlier one at `location`: itself or any newer one that follows it without a gap.
 * Undefined when it no longer exists (the table was dropped or its old metadata deleted), has no next version, or the hint
 * names a newer one: then a late commit created the name of a deleted version again.
 */
export async function followHadoopVersion(io: FileIO, location: string): Promise<HadoopVersion | undefined> {
  const known = versionOf(location)
  if (known === undefined) return undefined
  const folder = location.slice(0, location.lastIndexOf('/'))
  const looks = [io.stat(location), probeFrom(io, folder, known + 1), readHint(io, folder)] as const
  const [status, next = { location, version: known }, hint] = await Promise.all(looks)
  const isBehind = (hintedVersion(hint) ?? 0) > (next.version ?? known)
  return status === undefined || isBehind ? undefined : next
}

/** A file in a metadata folder that has the name of a version. */
export interface NamedVersion {
  readonly name: string
  readonly version: number
}

/** All versions in `metadataFolder`, in no particular order; a version with two files is listed twice. */
export async function listVersions(io: FileIO, metadataFolder: string): Promise<readonly NamedVersion[]> {
  const names = await fileNames(io, metadataFolder)
  return names.flatMap((name) => {
    const version = versionOf(name)
    return version === undefined ? [] : [{ name, version }]
  })
}

async function probeFrom(io: FileIO, folder: string, start: number): Promise<HadoopVersion | undefined> {
  let found: HadoopVersion | undefined
  for (let version = start; ; version++) {
    const location = await versionFile(io, folder, version)
    if (location === undefined) return found
    found = { location, version }
  }
}

/** The metadata file of a version, under any of its possible names. */
async function versionFile(io: FileIO, folder: string, version: number): Promise<string | undefined> {
  const names = SUFFIXES.map((suffix) => `${folder}/v${version}${suffix}`)
  const found = await Promise.all(names.map((name) => io.stat(name)))
  return names.find((_, at) => found[at] !== undefined)
}

/** Some writers put the name of the metadata file without its extension into the hint. */
async function namedFile(io: FileIO, folder: string, hint: string): Promise<HadoopVersion | undefined> {
  if (!/^\w[\w.-]*$/.test(hint)) return undefined
  const location = `${folder}/${hint.replace(/\.metadata\.json$/, '')}.metadata.json`
  if ((await io.stat(location)) === undefined) return undefined
  const version = VERSION_NAME.exec(location.slice(folder.length + 1))?.[1]
  return version === undefined ? { location, version: undefined } : probeFrom(io, folder, Number(version))
}

interface Candidate {
  readonly location: string
  readonly number: number
  readonly modifiedAtMs: number
}

async function highestVersion(io: FileIO, folder: string): Promise<HadoopVersion | undefined> {
  let version: Candidate | undefined
  let metastore: Candidate | undefined
  for await (const file of io.list(folder)) {
    const name = file.location.slice(folder.length + 1)
    version = higher(version, candidate(file, VERSION_NAME.exec(name)))
    metastore = higher(metastore, candidate(file, METASTORE_NAME.exec(name)))
  }
  if (version !== undefined) return { location: version.location, version: version.number }
  return metastore && { location: metastore.location, version: undefined }
}

function candidate(
  file: { readonly location: string; readonly modifiedAtMs: number },
  match: RegExpExecArray | null,
): Candidate | undefined {
  if (match?.[1] === undefined) return undefined
  return { location: file.location, number: Number(match[1]), modifiedAtMs: file.modifiedAtMs }
}

/** Of two files with the same number, a metastore catalog most likely uses the one written last. */
function higher(a: Candidate | undefined, b: Candidate | undefined): Candidate | undefined {
  if (a === undefined || b === undefined) return a ?? b
  if (a.number !== b.number) return a.number > b.number ? a : b
  return a.modifiedAtMs >= b.modifiedAtMs ? a : b
}
