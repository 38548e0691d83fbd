import type { Catalog } from '../../catalog/catalog.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { DomainError } from '../../domain/errors.ts'
import type { CatalogConfig, SetCatalogConfigRequest } from '../../schemas/catalog-config.ts'
import type { PipelineView } from '../../streaming/supervision/pipeline-view.ts'
import type { CatalogService, ConfigureOptions } from '../catalogs/catalog-service.ts'
import type { PipelineService } from './pipeline-service.ts'

/** A running pipeline whose tables differ in the new catalog. */
export interface AffectedPipeline {
  readonly id: string
  readonly tables: readonly { readonly table: string; readonly problem: string }[]
}

interface SwitchDeps {
  readonly catalog: CatalogService
  readonly pipelines: Pick<PipelineService, 'describeAll'>
}

/**
 * Switches to another catalog, and reports which running pipelines will not find their tables there: those become
 * degraded or fail. Errors as {@link CatalogService.configure}.
 */
export async function switchCatalog(
  { catalog, pipelines }: SwitchDeps,
  request: SetCatalogConfigRequest,
  options: ConfigureOptions,
): Promise<{ readonly config: CatalogConfig; readonly affected: readonly AffectedPipeline[] }> {
  const running = await runningPipelines(pipelines, options)
  const names = [...new Set(running.flatMap(tablesOf))]
  const before = catalog.problem() === undefined ? await identities(catalog, names) : new Map<string, string>()
  const config = await catalog.configure(request, options)
  const after = names.length === 0 ? before : await identities(catalog, names)
  return {
    config,
    affected: running.flatMap((pipeline) => affectedBy({ id: pipeline.id, tables: tablesOf(pipeline) }, before, after)),
  }
}

/**
 * Changes a catalog beside the default one, and reports which running pipelines will not find their tables of this catalog there.
 * Errors as {@link CatalogService.change}.
 */
export async function changeCatalog(
  { catalog, pipelines }: SwitchDeps,
  request: { readonly name: string; readonly config: SetCatalogConfigRequest },
  options: ConfigureOptions,
): Promise<readonly AffectedPipeline[]> {
  const { name, config } = request
  const running = await runningPipelines(pipelines, options)
  const tables = (pipeline: PipelineView): readonly string[] =>
    tablesOf(pipeline).filter((table) => parseIdentifier(table).catalog === name)
  const names = [...new Set(running.flatMap(tables))]
  const isRead = names.length > 0 && catalog.problem() === undefined
  const before = isRead ? await identities(catalog, names) : new Map<string, string>()
  await catalog.change(name, config, options)
  const after = names.length === 0 ? before : await identities(catalog, names)
  return running.flatMap((pipeline) => affectedBy({ id: pipeline.id, tables: tables(pipeline) }, before, after))
}

/**
 * Removes a catalog beside the default one. Throws `CONFLICT` while pipelines that are not stopped read or write its tables; other errors
 * as {@link CatalogService.remove}.
 */
export async function removeCatalog(
  { catalog, pipelines }: Pick<SwitchDeps, 'catalog' | 'pipelines'>,
  name: string,
  options: ConfigureOptions,
): Promise<void> {
  const running = await runningPipelines(pipelines, options)
  const users = running.filter((pipeline) =>
    tablesOf(pipeline).some((table) => parseIdentifier(table).catalog === name),
  )
  if (users.length > 0) {
    const message = `stop the pipelines first that use tables of ${name}: ${users.map(({ id }) => id).join(', ')}`
    throw new DomainError('CONFLICT', message)
  }
  await catalog.remove(name, options)
}

async function runningPipelines(
  pipelines: SwitchDeps['pipelines'],
  { context }: ConfigureOptions,
): Promise<readonly PipelineView[]> {
  const all = await pipelines.describeAll(context.caller)
  return all.filter(({ state }) => state !== 'stopped' && state !== 'failed')
}

function tablesOf(pipeline: PipelineView): readonly string[] {
  const { source_tables: sources, sink_table: sink, lookup_tables: lookups, divert_tables: diverts } = pipeline
  return [...sources, sink, ...lookups, ...diverts]
}

type Identities = ReadonlyMap<string, string>

interface UsedTables {
  /** The pipeline. */
  readonly id: string
  readonly tables: readonly string[]
}

function affectedBy(used: UsedTables, before: Identities, after: Identities): AffectedPipeline[] {
  const tables = used.tables.flatMap((table) => {
    const found = after.get(table)
    if (found === undefined) return [{ table, problem: 'is not in the new catalog, or cannot be read there' }]
    const known = before.get(table)
    return known === undefined || known === found ? [] : [{ table, problem: 'is another table in the new catalog' }]
  })
  return tables.length === 0 ? [] : [{ id: used.id, tables }]
}

/** UUIDs of the tables that can be loaded. */
async function identities(service: CatalogService, names: readonly string[]): Promise<Identities> {
  const found = new Map<string, string>()
  const catalog = service.current()
  for (const name of names) {
    const uuid = await identityOf(catalog, name)
    if (uuid !== undefined) found.set(name, uuid)
  }
  return found
}

async function identityOf(catalog: Catalog, name: string): Promise<string | undefined> {
  try {
    const { metadata } = await catalog.loadTable(parseIdentifier(name))
    return metadata.tableUuid === '' ? metadata.location : metadata.tableUuid
  } catch {
    return undefined // a catalog that does not respond must not prevent switching to another
  }
}
