import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'

import type { Environment } from '../../domain/environments.ts'
import type { PipelineGraph } from '../../domain/graph.ts'
import { contentHash } from '../content-hash.ts'
import { fromRequiredColumn, toRequiredColumn } from '../json-column.ts'
import type { KeyPageRequest } from '../key-page.ts'
import { prepared } from '../prepared-query.ts'
import type { PipelineVersionsTable, StateTables } from '../schema.ts'

/** A version without its content. */
export interface VersionSummary {
  readonly id: string
  readonly definitionId: string
  /** 1..n in a definition, without gaps. */
  readonly version: number
  readonly formatVersion: number
  readonly environment: Environment
  /** SHA-256 of the canonical graph, in hex, as computed when the version was created. */
  readonly contentHash: string
  readonly nodeCount: number
  readonly edgeCount: number
  readonly createdBy: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** The versions of a definition in one environment. */
export interface EnvironmentSummary {
  readonly newest: VersionSummary
  readonly count: number
}

export interface VersionRecord extends VersionSummary {
  readonly graph: PipelineGraph
}

/** A version whose content is text. */
export interface VersionText {
  readonly summary: VersionSummary
  readonly graph: string
}

export interface DeployedVersion extends VersionRecord {
  readonly definitionName: string
}

/** A version to create; it gets the next number. */
export type NewVersion = Omit<VersionRecord, 'version' | 'contentHash' | 'nodeCount' | 'edgeCount' | 'updatedAt'>

export interface VersionMove {
  readonly id: string
  readonly from: Environment
  readonly to: Environment
  readonly contentHash: string
  readonly now: string
}

/** Versions. Only their environment ever changes; they are deleted only with their definition. */
export interface VersionStore {
  /** Creates a version with the next number; call it in a transaction of `InTransaction`. */
  insert(version: NewVersion): Promise<VersionRecord>
  find(definitionId: string, id: string): Promise<VersionRecord | undefined>
  /** The same with the graph as JSON text, `{"nodes":…,"edges":…}` without spaces, which is known to be valid. */
  findText(definitionId: string, id: string): Promise<VersionText | undefined>
  /** A version of any definition. */
  findById(id: string): Promise<VersionRecord | undefined>
  /** Newest first, one more than the limit if there are more; the key is the version number. */
  list(definitionId: string, page: KeyPageRequest<number>): Promise<readonly VersionSummary[]>
  /** The newest version in each environment that has one. */
  latest(definitionId: string): Promise<readonly VersionRecord[]>
  /** The environments of all versions; the newest version represents each environment. */
  versionsByEnvironment(definitionId: string): Promise<readonly Pick<VersionSummary, 'version' | 'environment'>[]>
  /** The newest version and the number of versions, in each environment of each of these definitions. */
  newestOfEach(definitionIds: readonly string[]): Promise<readonly EnvironmentSummary[]>
  /** All versions in these environments, of any definition; only one page of them is in memory. */
  inEnvironments(environments: readonly Environment[]): AsyncIterable<DeployedVersion>
  /** The newest version of each definition in each of these environments; only one page of them is in memory. */
  newestInEnvironments(environments: readonly Environment[]): AsyncIterable<DeployedVersion>
  /** The ids of all versions of these definitions. */
  idsOf(definitionIds: readonly string[]): Promise<readonly Pick<VersionSummary, 'id' | 'definitionId'>[]>
  /** These versions, of any definition, in no particular order; ids without a version are skipped. */
  withIds(ids: readonly string[]): Promise<readonly DeployedVersion[]>
  /** The newest version in an environment. */
  newestIn(definitionId: string, environment: Environment): Promise<{ readonly id: string } | undefined>
  /** Moves a version; false when it is not in `from`, or does not have this content. */
  move(move: VersionMove): Promise<boolean>
}

const SUMMARY_COLUMNS = [
  'id',
  'definition_id',
  'version',
  'format_version',
  'environment',
  'content_hash',
  'node_count',
  'edge_count',
  'created_by',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof PipelineVersionsTable)[]

const findVersion = prepared<Pick<PipelineVersionsTable, 'id' | 'definition_id'>, PipelineVersionsTable>(
  (db, parameter) =>
    db
      .selectFrom('pipeline_versions')
      .selectAll()
      .where('id', '=', parameter('id'))
      .where('definition_id', '=', parameter('definition_id')),
)

const findNewest = prepared<Pick<PipelineVersionsTable, 'definition_id' | 'environment'>, { id: string }>(
  (db, parameter) =>
    db
      .selectFrom('pipeline_versions')
      .select('id')
      .where('definition_id', '=', parameter('definition_id'))
      .where('environment', '=', parameter('environment'))
      .orderBy('version', 'desc')
      .limit(1),
)

const moveVersion = prepared<VersionMove, unknown>((db, parameter) =>
  db
    .updateTable('pipeline_versions')
    .set({ environment: parameter('to'), updated_at: parameter('now') })
    .where('id', '=', parameter('id'))
    .where('environment', '=', parameter('from'))
    .where('content_hash', '=', parameter('contentHash')),
)

/** In characters. */
const MAX_CHECKED_TEXT = 4 * 2 ** 20

/** The texts of graphs that were found valid, by version: comparing costs less than checking again. */
const checkedGraphs = new LRUCache<string, string>({
  maxSize: MAX_CHECKED_TEXT,
  maxEntrySize: MAX_CHECKED_TEXT / 4,
  sizeCalculation: ({ length }) => length,
})

/** Pipeline versions in the state database. */
export function createVersionStore(db: Kysely<StateTables>): VersionStore {
  return {
    insert: (version) => insert(db, version),
    async find(definitionId, id) {
      const [row] = (await findVersion(db, { id, definition_id: definitionId })).rows
      return row && fromRow(row)
    },
    async findText(definitionId, id) {
      const [row] = (await findVersion(db, { id, definition_id: definitionId })).rows
      if (row === undefined) return undefined
      const { graph_json: stored } = row
      const graph = checkedGraphs.get(id) === stored ? stored : graphText(stored)
      checkedGraphs.set(id, graph)
      return { summary: summaryFromRow(row), graph }
    },
    async findById(id) {
      const row = await db.selectFrom('pipeline_versions').selectAll().where('id', '=', id).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(definitionId, { limit, after }) {
      let query = db.selectFrom('pipeline_versions').select(SUMMARY_COLUMNS).where('definition_id', '=', definitionId)
      if (after !== undefined) query = query.where('version', '<', after)
      const rows = await query
        .orderBy('version', 'desc')
        .limit(limit + 1)
        .execute()
      return rows.map(summaryFromRow)
    },
    async latest(definitionId) {
      const newest = newestPerEnvironment(db, definitionId)
        .clearSelect()
        .select((select) => select.fn.max('version').as('version'))
      const query = db.selectFrom('pipeline_versions').selectAll().where('definition_id', '=', definitionId)
      const rows = await query.where('version', 'in', newest).orderBy('version', 'desc').execute()
      return rows.map(fromRow)
    },
    async versionsByEnvironment(definitionId) {
      const rows = await newestPerEnvironment(db, definitionId).execute()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a check of the column holds it
      return rows.map(({ version, environment }) => ({ version, environment: environment as Environment }))
    },
    inEnvironments: (environments) => pagesOf(() => namedVersions(db).where(PLACE, 'in', environments)),
    newestInEnvironments: (environments) =>
      pagesOf(() => newestVersions(db).where(PLACE, 'in', environments), PAGE_OF_NEWEST),
    idsOf: (definitionIds) => idsOf(db, definitionIds),
    withIds: (ids) => withIds(db, ids),
    newestOfEach: (definitionIds) => newestOfEach(db, definitionIds),
    async newestIn(definitionId, environment) {
      return (await findNewest(db, { definition_id: definitionId, environment })).rows[0]
    },
    async move(move) {
      return (await moveVersion(db, move)).numAffectedRows === 1n
    },
  }
}

function newestPerEnvironment(db: Kysely<StateTables>, definitionId: string) {
  return db
    .selectFrom('pipeline_versions')
    .select((select) => ['environment', select.fn.max('version').as('version')])
    .where('definition_id', '=', definitionId)
    .groupBy('environment')
}

const PLACE = 'pipeline_versions.environment'

/** Versions with the names of their definitions. */
function namedVersions(db: Kysely<StateTables>) {
  return db
    .selectFrom('pipeline_versions')
    .innerJoin('pipeline_definitions', 'pipeline_definitions.id', 'pipeline_versions.definition_id')
    .selectAll('pipeline_versions')
    .select('pipeline_definitions.name as definition_name')
}

/** The newest of them in each environment of each definition. */
function newestVersions(db: Kysely<StateTables>): ReturnType<typeof namedVersions> {
  const newest = db
    .selectFrom('pipeline_versions')
    .select((select) => ['definition_id as of_definition', select.fn.max('version').as('newest_version')])
    .groupBy(['definition_id', 'environment'])
  // a version is in one environment, so its number identifies it there
  return namedVersions(db).where((where) =>
    where(
      where.refTuple('pipeline_versions.definition_id', 'pipeline_versions.version'),
      'in',
      newest.$asTuple('of_definition', 'newest_version'),
    ),
  )
}

const PAGE_OF_GRAPHS = 100
/** Larger, because each page looks for the newest version of every definition again. */
const PAGE_OF_NEWEST = 400

async function* pagesOf(
  query: () => ReturnType<typeof namedVersions>,
  size = PAGE_OF_GRAPHS,
): AsyncGenerator<DeployedVersion, void, undefined> {
  for (let after = ''; ;) {
    const page = query().where('pipeline_versions.id', '>', after).orderBy('pipeline_versions.id')
    const rows = await page.limit(size).execute()
    for (const row of rows) yield { ...fromRow(row), definitionName: row.definition_name }
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) return
    after = last.id
  }
}

/** Databases limit the parameters of a statement. */
const IDS_AT_ONCE = 500

async function idsOf(
  db: Kysely<StateTables>,
  definitionIds: readonly string[],
): Promise<readonly Pick<VersionSummary, 'id' | 'definitionId'>[]> {
  const found: Pick<VersionSummary, 'id' | 'definitionId'>[] = []
  for (let at = 0; at < definitionIds.length; at += IDS_AT_ONCE) {
    const some = definitionIds.slice(at, at + IDS_AT_ONCE)
    const query = db.selectFrom('pipeline_versions').select(['id', 'definition_id as definitionId'])
    found.push(...(await query.where('definition_id', 'in', some).execute()))
  }
  return found
}

async function withIds(db: Kysely<StateTables>, ids: readonly string[]): Promise<readonly DeployedVersion[]> {
  const found: DeployedVersion[] = []
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE)
    const rows = await namedVersions(db).where('pipeline_versions.id', 'in', some).execute()
    for (const row of rows) found.push({ ...fromRow(row), definitionName: row.definition_name })
  }
  return found
}

async function newestOfEach(
  db: Kysely<StateTables>,
  definitionIds: readonly string[],
): Promise<readonly EnvironmentSummary[]> {
  if (definitionIds.length === 0) return []
  const newest = db
    .selectFrom('pipeline_versions')
    .select((select) => [
      'definition_id as of_definition',
      select.fn.max('version').as('newest_version'),
      select.fn.countAll<number>().as('how_many'),
    ])
    .where('definition_id', 'in', definitionIds)
    .groupBy(['definition_id', 'environment'])
  const rows = await db
    .selectFrom(newest.as('newest'))
    .innerJoin('pipeline_versions', (join) =>
      join
        .onRef('pipeline_versions.definition_id', '=', 'newest.of_definition')
        .onRef('pipeline_versions.version', '=', 'newest.newest_version'),
    )
    .select([...SUMMARY_COLUMNS, 'newest.how_many'])
    .execute()
  return rows.map((row) => ({ newest: summaryFromRow(row), count: row.how_many }))
}

async function insert(db: Kysely<StateTables>, version: NewVersion): Promise<VersionRecord> {
  const query = db.selectFrom('pipeline_versions').select('version').orderBy('version', 'desc').limit(1)
  const last = await query.where('definition_id', '=', version.definitionId).executeTakeFirst()
  const record: VersionRecord = {
    ...version,
    version: (last?.version ?? 0) + 1,
    contentHash: contentHash(version.graph),
    nodeCount: version.graph.nodes.length,
    edgeCount: version.graph.edges.length,
    updatedAt: version.createdAt,
  }
  await db.insertInto('pipeline_versions').values(toRow(record)).execute()
  return record
}

function toRow(version: VersionRecord): PipelineVersionsTable {
  return {
    id: version.id,
    definition_id: version.definitionId,
    version: version.version,
    format_version: version.formatVersion,
    environment: version.environment,
    content_hash: version.contentHash,
    node_count: version.nodeCount,
    edge_count: version.edgeCount,
    created_by: version.createdBy,
    created_at: version.createdAt,
    updated_at: version.updatedAt,
    graph_json: toRequiredColumn(version.graph),
  }
}

/** The stored text, when it is what this store writes; otherwise it is written again. */
function graphText(stored: string): string {
  const graph = fromRequiredColumn<PipelineGraph>(stored)
  const isAsWritten = stored.startsWith('{"nodes":') && Object.keys(graph).join() === 'nodes,edges'
  return isAsWritten ? stored : JSON.stringify({ nodes: graph.nodes, edges: graph.edges })
}

function fromRow(row: PipelineVersionsTable): VersionRecord {
  return { ...summaryFromRow(row), graph: fromRequiredColumn<PipelineGraph>(row.graph_json) }
}

function summaryFromRow(row: Pick<PipelineVersionsTable, (typeof SUMMARY_COLUMNS)[number]>): VersionSummary {
  return {
    id: row.id,
    definitionId: row.definition_id,
    version: row.version,
    formatVersion: row.format_version,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a check of the column holds it
    environment: row.environment as Environment,
    contentHash: row.content_hash,
    nodeCount: row.node_count,
    edgeCount: row.edge_count,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
