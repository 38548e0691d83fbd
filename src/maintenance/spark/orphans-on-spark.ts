import type { SparkSession } from '../../engines/spark/connect/spark-client.ts'
import { listOrphanFiles } from '../../engines/spark/maintenance/procedures.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import type { FileIO, FileStatus } from '../../iceberg/io/file-io.ts'
import { isBelow, locationParts } from '../../iceberg/io/location-identity.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { isKept, isMetadataFile, type ListedFiles, type OldFileLister } from '../orphans/list-old-files.ts'
import { isHeld } from '../quarantine/held-files.ts'
import { withSparkTable } from './open-table.ts'
import type { SparkEngine } from './spark-engine.ts'
import { sparkProblem } from './spark-problem.ts'

const CONCURRENT_LOOKS = 8

/**
 * Lists candidates for removal with Spark. Spark only lists (`dry_run`): it would delete without our guards, without
 * quarantine, and while it runs. What it names is a hint: age, owner and reachability are all judged here again.
 */
export function sparkOrphanLister(spark: SparkEngine, catalogName: string): OldFileLister {
  return async (table, cutoffMs, signal) =>
    withSparkTable({ spark, catalogName, table, signal }, async ({ session, name }) => {
      const sql = listOrphanFiles(name, cutoffMs)
      const rows = await listed(session, { sql, spark, catalog: name.catalog, signal })
      const named = rows.flatMap((row) => respelled(row['orphan_file_location'], table.metadata.location))
      return judge(table, named, cutoffMs)
    })
}

interface Listing {
  readonly sql: ReturnType<typeof listOrphanFiles>
  readonly spark: SparkEngine
  readonly catalog: string
  readonly signal: AbortSignal | undefined
}

async function listed(session: SparkSession, { sql, spark, catalog, signal }: Listing) {
  try {
    return await session.sql(sql, { operationId: spark.newUuid(), signal })
  } catch (error) {
    throw sparkProblem(error, { address: spark.address, catalog })
  }
}

/** A location as the table spells its own (`s3a://` may be `s3://` here); nothing for one outside of the table. */
function respelled(location: unknown, tableLocation: string): readonly string[] {
  if (typeof location !== 'string' || !isBelow(location, tableLocation)) return []
  const root = locationParts(tableLocation).path.replace(/\/+$/, '')
  return [`${tableLocation.replace(/\/+$/, '')}${locationParts(location).path.slice(root.length)}`]
}

/** The same rules as for a listing of our own. */
async function judge({ io, metadata }: Table, named: readonly string[], cutoffMs: number): Promise<ListedFiles> {
  const { location } = metadata
  const nested = await nestedTables(io, named, location)
  const files = named.filter(
    (file) => !isHeld(file) && !isKept(file, location) && !nested.some((folder) => isBelow(file, folder)),
  )
  const found = await mapBounded(files, CONCURRENT_LOOKS, (file) => io.stat(file))
  const old = found.filter((status): status is FileStatus => status !== undefined && status.modifiedAtMs < cutoffMs)
  return { files: old, metadataFiles: await metadataFilesIn(io, `${location.replace(/\/+$/, '')}/metadata/`) }
}

/** Folders of other tables inside this one. Their metadata may be too young for Spark's list, but their data is in it. */
async function nestedTables(io: FileIO, files: readonly string[], tableLocation: string): Promise<readonly string[]> {
  const root = tableLocation.replace(/\/+$/, '')
  const folders = new Set(files.flatMap((file) => foldersBetween(root, file)))
  const found = await mapBounded([...folders], CONCURRENT_LOOKS, async (folder) => {
    const hasTable = (await metadataFilesIn(io, `${folder}/metadata/`)).length > 0
    return hasTable ? [folder] : []
  })
  return found.flat()
}

/** The folders of a file below the root, the root left out. */
function foldersBetween(root: string, file: string): readonly string[] {
  const parts = file
    .slice(root.length + 1)
    .split('/')
    .slice(0, -1)
  return parts.map((_, index) => `${root}/${parts.slice(0, index + 1).join('/')}`)
}

async function metadataFilesIn(io: FileIO, folder: string): Promise<readonly string[]> {
  const files: string[] = []
  for await (const { location } of io.list(folder)) if (isMetadataFile(location)) files.push(location)
  return files
}
