import { stat } from 'node:fs/promises'
import type { CatalogToCheck } from '../../../catalog/open-catalog.ts'
import type { CheckResult, CredentialsInUse } from '../../../catalog/catalog-checks.ts'
import type { CatalogSettings } from '../../../catalog/settings.ts'
import { formatIdentifier } from '../../../catalog/table-identifier.ts'
import { IcebergError } from '../../../iceberg/errors.ts'
import type { Table, TableIdentifier } from '../../../iceberg/metadata/table.ts'
import { plural } from '../../../lib/text.ts'
import type { ConnectionCheckName } from '../../../schemas/tables/catalog-test.ts'
import { newProbeLocation, probeFile } from './probe-file.ts'
import { firstDataFile, readEndOf } from './read-data-file.ts'
import { tableAround } from './table-around.ts'

/** What the checks of one test share. */
export interface TestRun {
  readonly settings: CatalogSettings
  readonly isCommitAsked: boolean
  /** Opens the catalog once; later calls return the same. */
  readonly open: () => Promise<CatalogToCheck>
  /** The first tables of the catalog, once they are listed. */
  tables: readonly TableIdentifier[]
  /** The loaded table. */
  table: Table | undefined
  /** The file that the check `write` may have created. */
  probe: string | undefined
}

/** Does one check. The signal is aborted when nobody waits for the result any more: then nothing is begun. */
export type CheckWork = (run: TestRun, signal: AbortSignal) => Promise<CheckResult>

/** How long a catalog that needs many requests is listed; half of what a check may take. */
const LIST_MS = 5000
/** How many tables are tried before loading counts as failed: single tables may be damaged. */
const MAX_LOADS = 5

/** The work of each check. */
export const CHECK_WORK: Readonly<Record<ConnectionCheckName, CheckWork>> = {
  reach: async (run) => {
    const { catalog, io } = await run.open()
    const path = run.settings.catalogType === 'hadoop' ? io.localPath(catalog.warehouse) : undefined
    if (path !== undefined && !(await isFolder(path))) {
      throw new IcebergError(
        'FILE_NOT_FOUND',
        `The warehouse ${catalog.warehouse} is not a folder that this service can read.`,
      )
    }
    return ok(await catalog.checks.reach())
  },
  list,
  load,
  read: async ({ table }) => {
    const file = table && (await firstDataFile(table))
    if (table === undefined || file === undefined) return skipped('The loaded table has no data file.')
    return ok(await readEndOf(table.io, file))
  },
  write,
  commit: async (run) => {
    const { catalog } = await run.open()
    return catalog.checks.commit({ table: run.table, isAsked: run.isCommitAsked })
  },
  credentials,
}

async function list(run: TestRun): Promise<CheckResult> {
  const { catalog } = await run.open()
  const listing = await (catalog.checks.list?.(LIST_MS) ?? listAll(run))
  const { namespaces, tables, isComplete } = listing
  run.tables = tables
  const found = `${plural(namespaces, 'namespace')} and ${plural(tables.length, 'table')}`
  return ok(
    isComplete ? `The catalog lists ${found}.` : `The catalog lists ${found} or more; the others were not listed.`,
  )
}

async function listAll(run: TestRun) {
  const { catalog } = await run.open()
  const namespaces = await catalog.listNamespaces()
  return { namespaces: namespaces.length, tables: await catalog.listTables(), isComplete: true }
}

async function load(run: TestRun, signal: AbortSignal): Promise<CheckResult> {
  const { catalog } = await run.open()
  if (run.tables.length === 0) return skipped('The catalog has no tables.')
  let first: unknown
  const failed: string[] = []
  for (const identifier of run.tables.slice(0, MAX_LOADS)) {
    if (signal.aborted) break
    const name = formatIdentifier(identifier)
    try {
      run.table = await catalog.loadTable(identifier)
      const others = failed.length === 0 ? '' : ` These could not be loaded: ${failed.join(', ')}.`
      return ok(`The metadata of ${name} was loaded.${others}`)
    } catch (error) {
      first ??= error
      failed.push(name)
    }
  }
  throw first
}

async function write(run: TestRun, signal: AbortSignal): Promise<CheckResult> {
  const { catalog, io, hasLocation } = await run.open()
  const { warehouse } = catalog
  if (!hasLocation) {
    return skipped(
      `The warehouse ${warehouse} is a name of the server, not a location: only the server knows its folder.`,
    )
  }
  const path = io.localPath(warehouse)
  if (path !== undefined && !(await isFolder(path))) {
    return skipped(`The folder ${warehouse} does not exist yet: the first table creates it.`)
  }
  const owner = await tableAround({ catalog, io, table: run.table })
  if (owner !== undefined) {
    return skipped(`The warehouse ${warehouse} is in the folder of ${owner}, where no probe is written.`)
  }
  if (signal.aborted) throw new IcebergError('CANCELLED', 'The check was cancelled before a file was written.')
  const location = newProbeLocation(warehouse)
  run.probe = location
  await probeFile(io, location)
  run.probe = undefined
  return ok(`${location} was created, read and deleted.`)
}

async function credentials(run: TestRun): Promise<CheckResult> {
  const { catalog, credentialsAt, hasLocation } = await run.open()
  const { lent } = catalog.checks
  const { table } = run
  if (lent !== undefined && table !== undefined) {
    const found = await lent(table)
    if (found !== undefined) return describe(found)
    await table.io.stat(table.metadataLocation) // fails where neither the catalog nor the settings have credentials
  }
  if (table === undefined && !hasLocation) {
    return skipped('No table was loaded for which the catalog could lend credentials.')
  }
  const found = await credentialsAt(table?.metadata.location ?? catalog.warehouse)
  return found === undefined ? ok('Files of this machine need no credentials.') : describe(found)
}

function describe({ source, expiresAtMs, isRenewed }: CredentialsInUse): CheckResult {
  const expiry = expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString()
  if (expiresAtMs !== undefined && expiresAtMs <= Date.now()) {
    const advice = 'renew them, or check the clocks of the issuer and of this machine'
    throw new IcebergError('IO_FAILED', `Files are accessed with ${source}, which expired at ${expiry}: ${advice}.`)
  }
  const renewed = isRenewed === true ? ' They were renewed once.' : ''
  return ok(`Files are accessed with ${source}.${expiry === undefined ? '' : ` They expire at ${expiry}.`}${renewed}`)
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

function ok(detail: string): CheckResult {
  return { outcome: 'ok', detail }
}

function skipped(detail: string): CheckResult {
  return { outcome: 'skipped', detail }
}
