import { mayBeSameTable } from '../../catalog/table-identifier.ts'
import type { RequestContext } from '../../domain/audit.ts'
import { RUN_ENVIRONMENTS } from '../../domain/environments.ts'
import type { ChangedPart } from '../../domain/tables/table-use.ts'
import type { SqlSandbox } from '../../engines/sql-sandbox.ts'
import { IcebergError } from '../../iceberg/errors.ts'
import { mapBounded } from '../../lib/bounded-map.ts'
import { type LineageQuery, MAX_LINEAGE_NODES } from '../../schemas/lineage.ts'
import type { PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { HealthIndexStore } from '../../storage/stores/tables/health-index-store.ts'
import type { DeployedVersion, VersionStore } from '../../storage/stores/version-store.ts'
import type { GraphColumns } from '../../streaming/graph/graph-columns.ts'
import type { ParameterValues } from '../../streaming/graph/parameter-text.ts'
import { requireTable, seesTables } from '../identity/access/require-access.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import type { EnvironmentService } from '../environments/environment-service.ts'
import { type Flow, inOrderOfUse, pipelineFlow, versionFlow } from './flow.ts'
import { createColumnFinder } from './flow-columns.ts'
import { type Impact, impactOf } from './impact.ts'
import { lineageGraph, type LineageView } from './lineage-view.ts'
import { findTableFacts } from './table-facts.ts'
import { countHidden, walkLineage } from './walk.ts'

export interface LineageServiceDeps {
  readonly catalog: CatalogService
  readonly sandbox: SqlSandbox
  readonly environments: EnvironmentService
  readonly pipelines: Pick<PipelineStore, 'list'>
  readonly versions: Pick<VersionStore, 'newestInEnvironments' | 'withIds'>
  readonly index: Pick<HealthIndexStore, 'findAll'>
}

/** Which pipelines and versions read and write which tables (docs/api.md#lineage). */
export interface LineageService {
  /** Throws `NO_SUCH_TABLE` for a table that neither the catalog nor a pipeline nor a version names. */
  read(query: LineageQuery, context: Pick<RequestContext, 'caller'>): Promise<LineageView>
  /** Who reads or writes a table or column that is about to change. Errors as {@link LineageService.read}. */
  impact(part: ChangedPart, context: Pick<RequestContext, 'caller'>): Promise<Impact>
}

/** Pipelines and versions of one answer whose columns are found: each needs its tables and the sandbox. */
const MAX_COLUMN_FLOWS = 50
/** The sandbox serves one user at a time with few requests. */
const COLUMNS_AT_ONCE = 2

/** Lineage from the stored pipelines and versions. It follows the names of tables. */
export function createLineageService(deps: LineageServiceDeps): LineageService {
  return {
    read: (query, context) => readLineage(deps, query, context),
    async impact(part, context) {
      const { table, column } = part
      const around = { table, direction: 'both', depth: 1, limit: MAX_LINEAGE_NODES } as const
      return impactOf(await readLineage(deps, { ...around, columns: column !== undefined }, context), part)
    },
  }
}

async function readLineage(
  deps: LineageServiceDeps,
  { table, direction, depth, limit, columns = table !== undefined }: LineageQuery,
  { caller }: Pick<RequestContext, 'caller'>,
): Promise<LineageView> {
  if (table !== undefined) requireTable(caller, table, 'Auditor')
  const catalog = deps.catalog.current()
  const parameters = await environmentParameters(deps)
  const all = await listFlows(deps, parameters)
  const flows = all.filter(({ sources, sinks }) => seesTables(caller, [...sources, ...sinks]))
  const walked = walkLineage(flows, { table, direction, depth, limit })
  const [tables, versions] = await Promise.all([
    findTableFacts([...walked.tables], { catalog, index: deps.index }),
    versionsOf([...walked.flows], deps),
  ])
  const similar = table === undefined ? [] : similarTables(table, flows)
  if (table !== undefined && !walked.truncated && walked.flows.size === 0 && tables.get(table)?.exists === false) {
    throw new IcebergError('NO_SUCH_TABLE', `Table ${table} does not exist.`)
  }
  const asked = columns ? [...walked.flows].slice(0, MAX_COLUMN_FLOWS) : []
  const parametersOf = (environment: string): ParameterValues => parameters.get(environment) ?? {}
  const sandbox = deps.sandbox.forOwner(caller.user)
  const found = await columnsOf(asked, createColumnFinder({ ...deps, sandbox, versions, parametersOf }))
  return {
    success: true,
    table: table ?? null,
    ...lineageGraph({ walked, tables, hidden: countHidden(flows, walked), columns: found, versions }),
    truncated: walked.truncated,
    columns_truncated: columns && walked.flows.size > asked.length,
    similar_tables: similar,
  }
}

async function environmentParameters({
  environments,
}: LineageServiceDeps): Promise<ReadonlyMap<string, ParameterValues>> {
  return new Map((await environments.list()).map(({ environment, parameters }) => [environment, parameters]))
}

/** All pipelines, and the newest version in each environment that no pipeline runs there. */
async function listFlows(
  { pipelines, versions, environments }: LineageServiceDeps,
  parameters: ReadonlyMap<string, ParameterValues>,
): Promise<readonly Flow[]> {
  const records = await pipelines.list()
  const started = new Set(records.map(({ versionId, environment }) => `${versionId}/${environment}`))
  const flows = records.map(pipelineFlow)
  for await (const version of versions.newestInEnvironments(RUN_ENVIRONMENTS)) {
    const { id, environment } = version
    if (environment === 'retired' || started.has(`${id}/${environment}`)) continue
    const { graph, problems } = environments.resolveForDisplay(version.graph, parameters.get(environment) ?? {})
    const unresolved = new Set(problems.map(({ nodeId }) => nodeId))
    const flow = versionFlow({ version, environment, graph, unresolved })
    if (flow !== undefined) flows.push(flow)
  }
  return inOrderOfUse(flows)
}

/** The versions that pipelines run, by id; one that was deleted with its definition is missing. */
async function versionsOf(
  flows: readonly Flow[],
  { versions }: LineageServiceDeps,
): Promise<ReadonlyMap<string, DeployedVersion>> {
  const ids = flows.flatMap((flow) => (flow.kind === 'pipeline' ? (flow.pipeline.versionId ?? []) : []))
  return new Map((await versions.withIds([...new Set(ids)])).map((version) => [version.id, version]))
}

async function columnsOf(
  flows: readonly Flow[],
  find: ReturnType<typeof createColumnFinder>,
): Promise<ReadonlyMap<string, GraphColumns>> {
  const found = new Map<string, GraphColumns>()
  await mapBounded(flows, COLUMNS_AT_ONCE, async (flow) => {
    const columns = await find(flow)
    if (columns !== undefined) found.set(flow.id, columns)
  })
  return found
}

/** Tables of flows that a catalog which ignores case would take for this one. */
function similarTables(table: string, flows: readonly Flow[]): readonly string[] {
  const names = new Set(flows.flatMap(({ sources, sinks }) => [...sources, ...sinks]))
  return [...names].filter((name) => name !== table && mayBeSameTable(name, table)).toSorted()
}
