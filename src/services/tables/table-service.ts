import {
  formatIdentifier,
  namespaceOf,
  noSuchNamespace,
  parseIdentifier,
  parseNamespace,
  splitCatalog,
} from '../../catalog/table-identifier.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { memberOf } from '../../catalog/catalog.ts'
import type { z } from 'zod'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import type { RequestContext } from '../../domain/audit.ts'
import type { Caller } from '../../domain/roles.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import { formatTransform } from '../../iceberg/partitioning/transforms.ts'
import type { Table, TableIdentifier } from '../../iceberg/metadata/table.ts'
import { describeColumns } from '../../maintenance/evolve.ts'
import type { TableStatistics } from '../../maintenance/inspection/column-statistics.ts'
import { readFileBounds } from '../../maintenance/inspection/file-bounds.ts'
import { createSharedStatistics } from '../../maintenance/inspection/shared-statistics.ts'
import { createTableInspector, type TableInspector } from '../../maintenance/inspection/table-inspector.ts'
import {
  describeSnapshots,
  listFiles,
  listHistory,
  listRefs,
  listSnapshots,
} from '../../maintenance/inspection/table-listings.ts'
import type { TotalsSource } from '../../maintenance/inspection/totals/totals-source.ts'
import type { TableGuard } from '../../maintenance/table-guard.ts'
import type {
  fileList,
  historyList,
  partitionList,
  refList,
  snapshotList,
  tableHealth,
  tableList,
  tableOverview,
  tableSchema,
} from '../../schemas/tables/tables.ts'
import type { fileBounds, fileBoundsQuery, tableStatistics } from '../../schemas/tables/statistics.ts'
import type { recoveryPointList } from '../../schemas/tables/recovery-points.ts'
import type { Wire } from '../../schemas/wire.ts'
import type { StoredJson } from '../../storage/json-column.ts'
import type { InTransaction } from '../../storage/transactions.ts'
import { isLimited, seesTable } from '../identity/access/require-access.ts'
import { visibleProperties } from '../identity/access/visible-properties.ts'
import type { AuditRecorder } from '../audit/audit-service.ts'
import type { CatalogService } from '../catalogs/catalog-service.ts'
import { requireRegistrable } from './registration.ts'
import type { EventWriter } from '../events/event-log.ts'
import { offsetToken, pageLimit, pageOffset, pageOfList, type PageQuery } from '../paging/paging.ts'
import { describeRecoveryPoints, type RecoveryPointQuery } from './recovery-point-view.ts'
import type { MeasureSample, SampleProfile, SampleRequest } from './sample-profile.ts'
import { describeFileBounds } from './file-bounds-view.ts'
import { describeHealth, healthDigest } from './table-health-view.ts'

export interface TableServiceDeps {
  readonly catalog: CatalogService
  readonly totals: TotalsSource
  readonly measureSample: MeasureSample
  readonly guard: Pick<TableGuard, 'pipelinesOf'>
  readonly inTransaction: InTransaction
  readonly audit: AuditRecorder
  readonly events: EventWriter
  readonly now: () => Date
}

/** Reads tables, by qualified name; unknown ones throw `NO_SUCH_TABLE`. Only `register` changes something. */
export interface TableService {
  /** Tables that exist for the caller. */
  list(within: TablesWithin, page: PageQuery, caller: Caller): Promise<Wire<typeof tableList>>
  overview(table: string, caller: Caller): Promise<Wire<typeof tableOverview>>
  schema(table: string): Promise<Wire<typeof tableSchema>>
  health(table: string): Promise<Wire<typeof tableHealth>>
  /** Counts, sizes and bounds of the columns, from the manifests of the current snapshot, and what a sample of its rows shows. */
  statistics(table: string, request: StatisticsRequest): Promise<Wire<typeof tableStatistics>>
  /** The bounds of a column in the data files. Errors of `readFileBounds`. */
  fileBounds(table: string, request: FileBoundsRequest, signal: AbortSignal): Promise<Wire<typeof fileBounds>>
  snapshots(table: string, page: PageQuery): Promise<Wire<typeof snapshotList>>
  files(table: string, page: PageQuery): Promise<Wire<typeof fileList>>
  partitions(table: string, page: PageQuery): Promise<Wire<typeof partitionList>>
  history(table: string, page: PageQuery): Promise<Wire<typeof historyList>>
  refs(table: string, page: PageQuery): Promise<Wire<typeof refList>>
  /** The states that a branch had, newest first. `UNPROCESSABLE` for an unknown branch. */
  recoveryPoints(table: string, query: RecoveryPointQuery): Promise<Wire<typeof recoveryPointList>>
  /** Adds an existing table to the catalog; returns its overview. `FORBIDDEN` for tables of pipelines unless by a lead. */
  register(table: string, metadataLocation: string, context: RequestContext): Promise<Wire<typeof tableOverview>>
  /** The health numbers of a table that the ledger stores. */
  healthDigest(table: Table): Promise<StoredJson>
}

/** The tables of a list: those of all catalogs, of one, or of a namespace, which has the name of its catalog before it. */
export interface TablesWithin {
  readonly catalog?: string | undefined
  readonly namespace?: string | undefined
}

/** Whether a sample of the rows is measured too, and for whom. */
export interface StatisticsRequest extends Pick<SampleRequest, 'context' | 'signal'> {
  readonly isProfiled: boolean
}

type FileBoundsRequest = z.output<typeof fileBoundsQuery>

/** Table inspection over the current catalog. */
export function createTableService(deps: TableServiceDeps): TableService {
  const { catalog, totals, guard, now, inTransaction, audit, events } = deps
  const inspector = createTableInspector(totals)
  const load = (name: string): Promise<Table> => catalog.current().loadTable(parseIdentifier(name))
  return {
    async list(within, page, caller) {
      const all = await listWithin(catalog.current(), within)
      const { catalog: ofCatalog = '', namespace } = within
      const found = all.filter((identifier) => seesTable(caller, formatIdentifier(identifier)))
      // a namespace without a visible table could be that of hidden ones
      if (found.length === 0 && namespace !== undefined && isLimited(caller)) {
        throw noSuchNamespace(parseNamespace(namespace))
      }
      const rows = found.map((identifier) => ({
        name: identifier.name,
        namespace: namespaceOf(identifier),
        table: formatIdentifier(identifier),
      }))
      const { items, next_page_token } = pageOfList(rows, page, `tables ${ofCatalog} ${namespace ?? ''}`)
      return { success: true, tables: items, next_page_token }
    },
    overview: async (name, caller) => visibleOverview(describeTable(name, await load(name)), caller),
    async schema(name) {
      const { metadata } = await load(name)
      return {
        success: true,
        table: name,
        schema_id: metadata.currentSchemaId,
        columns: describeColumns(currentSchema(metadata)),
      }
    },
    async health(name) {
      const table = await load(name)
      const report = describeHealth(name, await inspector.health(table, now().getTime()))
      return { success: true, table: name, last_updated_at: lastUpdatedAt(table), ...report }
    },
    ...columnViews(load, deps),
    ...tableListings(load, inspector),
    async register(name, metadataLocation, context) {
      const identifier = parseIdentifier(name)
      const entry = { ...context, action: 'table.register', objectType: 'table', objectId: name } as const
      await inTransaction((tx) => audit.record(tx, { ...entry, outcome: 'begun' }))
      const check = (found: Table) => requireRegistrable(guard, found, context.caller)
      const table = await catalog.current().registerTable(identifier, metadataLocation, check)
      await inTransaction(async (tx) => {
        await audit.record(tx, entry)
        await events.append(tx, {
          type: 'table.registered',
          objectType: 'table',
          objectId: name,
          data: { table: name },
        })
      })
      return describeTable(name, table)
    },
    healthDigest: async (table) => healthDigest(await inspector.health(table, now().getTime())),
  }
}

/** What manifests, and a sample of the rows, say about columns. */
function columnViews(
  load: (name: string) => Promise<Table>,
  { totals, measureSample }: Pick<TableServiceDeps, 'totals' | 'measureSample'>,
): Pick<TableService, 'statistics' | 'fileBounds'> {
  const readStatistics = createSharedStatistics()
  const lock = createKeyedLock()
  return {
    async statistics(name, { isProfiled, context, signal }) {
      const table = await load(name)
      const statistics = await readStatistics(table, signal)
      const sample = isProfiled ? await measureSample({ label: name, table, statistics, context, signal }) : undefined
      return describeStatistics(name, table, { ...statistics, sample })
    },
    async fileBounds(name, { column, limit }, signal) {
      const table = await load(name)
      // one at a time, because the bounds of many files need memory
      const found = await lock.run('file-bounds', signal, () =>
        readFileBounds(table, totals, { column, maxBars: limit }),
      )
      return describeFileBounds(name, table, found)
    },
  }
}

type TableListings = Pick<TableService, 'snapshots' | 'files' | 'partitions' | 'history' | 'refs' | 'recoveryPoints'>

/** The parts of a table, in pages. */
function tableListings(load: (name: string) => Promise<Table>, inspector: TableInspector): TableListings {
  return {
    async snapshots(name, page) {
      const table = await load(name)
      const { items, next_page_token } = pageOfList(listSnapshots(table.metadata), page, table.metadataLocation)
      return { success: true, snapshots: describeSnapshots(table.metadata, items), next_page_token }
    },
    async files(name, page) {
      const table = await load(name)
      const version = table.metadata.currentSnapshotId?.toString() ?? ''
      const request = { offset: pageOffset(page, version), limit: pageLimit(page) }
      const { items, nextOffset } = await listFiles(table, request)
      const next = nextOffset === undefined ? null : offsetToken(nextOffset, version)
      return { success: true, files: items, next_page_token: next }
    },
    async partitions(name, page) {
      const table = await load(name)
      const rows = await inspector.partitions(table)
      const { items, next_page_token } = pageOfList(rows, page, table.metadata.currentSnapshotId?.toString() ?? '')
      const partitions = items.map((row) => ({
        spec_id: row.specId,
        partition: row.values,
        data_file_count: row.files,
        record_count: row.records,
        total_size_bytes: row.bytes,
        small_file_count: row.smallFiles,
        delete_file_count: row.deleteFiles,
      }))
      return { success: true, partitions, next_page_token }
    },
    async history(name, page) {
      const table = await load(name)
      const { items, next_page_token } = pageOfList(listHistory(table.metadata), page, table.metadataLocation)
      return { success: true, history: items, next_page_token }
    },
    async refs(name, page) {
      const table = await load(name)
      const { items, next_page_token } = pageOfList(listRefs(table.metadata), page, table.metadataLocation)
      return { success: true, refs: items, next_page_token }
    },
    recoveryPoints: async (name, query) => describeRecoveryPoints(name, await load(name), query),
  }
}

function describeStatistics(
  name: string,
  table: Table,
  { dataFiles, rows, columns, sample }: TableStatistics & { readonly sample: SampleProfile | undefined },
): Wire<typeof tableStatistics> {
  return {
    success: true,
    table: name,
    snapshot_id: table.metadata.currentSnapshotId?.toString() ?? null,
    data_file_count: dataFiles,
    record_count: rows,
    columns: columns.map(({ fieldId, path, type, values, nulls, bytes, lower, upper, filesWithBounds }) => ({
      id: fieldId,
      path,
      type,
      value_count: values ?? null,
      null_count: nulls ?? null,
      size_bytes: bytes ?? null,
      lower: lower ?? null,
      upper: upper ?? null,
      bounded_file_count: filesWithBounds,
      ...(sample && { profile: sample.columns.get(fieldId) ?? null }),
    })),
    ...(sample && { profile: sample.facts }),
  }
}

function describeTable(name: string, { metadata, metadataLocation }: Table): Wire<typeof tableOverview> {
  const spec = currentSpec(metadata)
  const order = metadata.sortOrders.find(({ orderId }) => orderId === metadata.defaultSortOrderId)
  return {
    success: true,
    table: name,
    location: metadata.location,
    metadata_location: metadataLocation,
    format_version: metadata.formatVersion,
    uuid: metadata.tableUuid,
    current_snapshot_id: metadata.currentSnapshotId?.toString() ?? null,
    refs: listRefs(metadata),
    partition_spec: {
      spec_id: spec.specId,
      fields: spec.fields.map(({ fieldId, sourceId, name: field, transform }) => ({
        field_id: fieldId,
        source_id: sourceId,
        name: field,
        transform: formatTransform(transform),
      })),
    },
    sort_order: {
      order_id: metadata.defaultSortOrderId,
      fields: (order?.fields ?? []).map(({ sourceId, transform, direction, nullOrder }) => ({
        source_id: sourceId,
        transform: formatTransform(transform),
        direction,
        null_order: nullOrder,
      })),
    },
    properties: metadata.properties,
    last_updated_at: lastUpdatedAt({ metadata }),
  }
}

function visibleOverview(overview: Wire<typeof tableOverview>, caller: Caller): Wire<typeof tableOverview> {
  return { ...overview, properties: visibleProperties(caller, overview.properties) }
}

function lastUpdatedAt({ metadata }: Pick<Table, 'metadata'>): string {
  return new Date(metadata.lastUpdatedMs).toISOString()
}

async function listWithin(all: Catalog, { catalog, namespace }: TablesWithin): Promise<readonly TableIdentifier[]> {
  const wanted = catalog === all.name ? undefined : catalog
  if (namespace === undefined) {
    if (wanted !== undefined) return memberOf(all, { catalog: wanted }).listTables()
    const listed = await all.listTables()
    return catalog === undefined ? listed : listed.filter((one) => one.catalog === undefined)
  }
  const { catalog: prefix, rest } = splitCatalog(namespace)
  if (catalog !== undefined && prefix !== wanted) return []
  return memberOf(all, { catalog: prefix }).listTables(parseNamespace(rest))
}
