import { LRUCache } from 'lru-cache'

import {
  explainCompaction,
  explainConversion,
  explainDeleteRewrite,
  explainExpiry,
  explainManifestRewrite,
  isWorthCompacting,
  isWorthConverting,
  isWorthExpiring,
  isWorthMergingDeletes,
  recommend,
} from '../../domain/tables/health-advice.ts'
import type {
  ProjectedCompaction,
  ProjectedConversion,
  ProjectedDeleteRewrite,
  ProjectedExpiry,
  ProjectedManifestRewrite,
  Projections,
} from '../../domain/tables/health-advice.ts'
import type { RecommendedKind } from '../../domain/tables/operations.ts'
import { scoreTable } from '../../domain/tables/table-health.ts'
import type { HealthScore, TableHealthFacts } from '../../domain/tables/table-health.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import type { ManifestFile } from '../../iceberg/manifest/manifest.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planExpiry } from '../../iceberg/update/expire-snapshots.ts'
import { projectCompaction } from './projection.ts'
import type { CompactionProjection, CompactionRefused } from './projection.ts'
import { type ConversionProjection, projectConversion } from '../delete-conversion/projection.ts'
import { type DeleteRewriteProjection, projectDeleteRewrite } from '../position-deletes/projection.ts'
import { planManifestRewrite } from '../manifests/rewrite-manifests.ts'
import { tableLayout } from '../clustering/layout.ts'
import { sumTableFiles } from '../table-files.ts'
import type { PartitionRow } from '../table-files.ts'
import { createTotalsSource, type TotalsSource } from './totals/totals-source.ts'
import { type KnownRanges, measureLayout, NO_RANGES, projectNeededLayout, weighRanges } from './table-overlap.ts'

/** A recommendation that can be sent unchanged: the operation, its options under their wire names, and its effect. */
export interface HealthAction {
  readonly operation: RecommendedKind
  readonly reason: string
  /** Without `table`. */
  readonly options: Readonly<Record<string, unknown>>
  readonly projected: Readonly<Record<string, number>>
}

export interface TableHealthReport extends HealthScore {
  readonly facts: TableHealthFacts
  readonly recommendation: string
  readonly actions: readonly HealthAction[]
}

/**
 * Reads the structure of tables. The last state of each table is kept (tables that were used least recently are evicted first):
 * inspecting an unchanged table again is free, and a changed table costs its new manifests. Earlier states are not kept, because a
 * table that is compacted often would fill the memory with them.
 */
export interface TableInspector {
  /** Health of the current snapshot; `nowMs` decides which snapshots are past their retention. */
  health(table: Table, nowMs: number): Promise<TableHealthReport>
  /** Partitions of the current snapshot, in manifest order. */
  partitions(table: Table): Promise<readonly PartitionRow[]>
}

/** The state of one table at one moment; does not depend on the clock. */
interface Inspection {
  readonly facts: TableHealthFacts
  readonly partitions: readonly PartitionRow[]
  readonly compaction: CompactionProjection | CompactionRefused | undefined
  readonly conversion: ConversionProjection | undefined
  readonly deletes: DeleteRewriteProjection | undefined
  readonly manifests: readonly ManifestFile[]
}

/** The last inspection of a table. */
interface Inspected {
  /** Names the state of the table. */
  readonly state: string
  readonly inspection: Inspection
  /** The bounds that were read from its manifests. */
  readonly ranges: KnownRanges
}

/** Memory for inspected tables. */
const CACHED_BYTES = 64 * 1024 * 1024

/** An inspector with its own cache; `totals` may be shared. Errors of its methods: those of manifests and FileIO. */
export function createTableInspector(totals: TotalsSource = createTotalsSource()): TableInspector {
  const tables = new LRUCache<string, Inspected>({ maxSize: CACHED_BYTES, sizeCalculation: weigh })

  async function inspect(table: Table): Promise<Inspection> {
    const { tableUuid, location, lastUpdatedMs } = table.metadata
    const key = `${tableUuid} ${location}` // a copied table has the same UUID
    const state = `${table.metadataLocation} ${lastUpdatedMs}`
    const known = tables.get(key)
    if (known?.state === state) return known.inspection
    const read = await readTable(table, totals, known?.ranges ?? NO_RANGES)
    tables.set(key, { state, ...read })
    // what does not fit is not kept: of a table with millions of files, at least the inspection
    if (!tables.has(key)) tables.set(key, { state, inspection: read.inspection, ranges: NO_RANGES })
    return read.inspection
  }

  return {
    health: async (table, nowMs) => report(table.metadata, await inspect(table), nowMs),
    partitions: async (table) => (await inspect(table)).partitions,
  }
}

async function readTable(table: Table, totals: TotalsSource, known: KnownRanges): Promise<Omit<Inspected, 'state'>> {
  const { metadata } = table
  const counted = await totals.read(table)
  const manifests = counted.map(({ manifest }) => manifest)
  const counts = await sumTableFiles(metadata, counted)
  const layout = tableLayout(metadata)
  const measured = layout && (await measureLayout(table, { layout, counts, manifests, known }))
  const files = measured?.files ?? counts
  const inspection: Inspection = {
    facts: files.facts,
    partitions: files.partitions,
    compaction:
      (layout && (await projectNeededLayout(table, files, layout))) ?? (await projectCompaction(table, files)),
    conversion: await projectConversion(table, files.facts),
    deletes: await projectDeleteRewrite(table, files.facts),
    manifests,
  }
  return { inspection, ranges: measured?.read ?? NO_RANGES }
}

function report(metadata: TableMetadata, inspection: Inspection, nowMs: number): TableHealthReport {
  const { facts } = inspection
  const score = scoreTable(facts)
  const compaction = describeCompaction(inspection)
  const conversion = describeConversion(inspection, compaction)
  const deletes = describeDeletes(inspection, compaction)
  const expiry = describeExpiry(metadata, facts, nowMs)
  const manifests = describeManifests(metadata, inspection, score)
  const projections: Projections = {
    ...(compaction && { compaction }),
    ...(inspection.compaction?.kind === 'refused' && { compactionRefused: inspection.compaction.reason }),
    ...(conversion && { conversion }),
    ...(deletes && { deletes }),
    ...(expiry && { expiry }),
    ...(manifests && { manifests }),
  }
  return {
    facts,
    ...score,
    recommendation: recommend(facts, score, projections),
    actions: proposeActions(inspection, projections),
  }
}

function describeCompaction({ compaction }: Inspection): ProjectedCompaction | undefined {
  if (compaction?.kind !== 'projected') return undefined
  const projected = { ...compaction, scoreAfter: scoreTable(compaction.factsAfter).score }
  return isWorthCompacting(projected) ? projected : undefined
}

function describeConversion(
  { facts, compaction, conversion }: Inspection,
  recommended: ProjectedCompaction | undefined,
): ProjectedConversion | undefined {
  const remaining = recommended && compaction?.kind === 'projected' ? compaction.factsAfter : undefined
  if (conversion === undefined || !isWorthConverting(facts, remaining)) return undefined
  return { ...conversion, scoreAfter: scoreTable(conversion.factsAfter).score }
}

function describeDeletes(
  { facts, compaction, deletes }: Inspection,
  recommended: ProjectedCompaction | undefined,
): ProjectedDeleteRewrite | undefined {
  const remaining = recommended && compaction?.kind === 'projected' ? compaction.factsAfter : undefined
  if (deletes === undefined || !isWorthMergingDeletes(deletes, remaining)) return undefined
  const { positionDeletes } = facts
  const count = positionDeletes.count - deletes.rewrittenFiles + deletes.addedFiles
  return { ...deletes, scoreAfter: scoreTable({ ...facts, positionDeletes: { ...positionDeletes, count } }).score }
}

function describeExpiry(metadata: TableMetadata, facts: TableHealthFacts, nowMs: number): ProjectedExpiry | undefined {
  const expiredSnapshots = countExpirable(metadata, nowMs)
  if (!isWorthExpiring(facts, expiredSnapshots)) return undefined
  const scoreAfter = scoreTable({ ...facts, snapshotCount: facts.snapshotCount - expiredSnapshots }).score
  return { expiredSnapshots, scoreAfter }
}

/** Snapshots past the table's own retention; none where expiry is not allowed. */
function countExpirable(metadata: TableMetadata, nowMs: number): number {
  if (metadata.properties['gc.enabled']?.toLowerCase() === 'false') return 0
  try {
    return planExpiry(metadata, { nowMs }).expiredSnapshotIds.length
  } catch (error) {
    if (isIcebergError(error)) return 0 // report the rest nevertheless
    throw error
  }
}

function describeManifests(
  metadata: TableMetadata,
  { facts, manifests }: Inspection,
  { factors }: HealthScore,
): ProjectedManifestRewrite | undefined {
  const penalty = factors.find(({ name }) => name === 'manifests')?.penalty ?? 0
  const groups = penalty > 0 ? planManifestRewrite(metadata, manifests) : []
  if (groups.length === 0) return undefined
  const rewrittenManifests = groups.reduce((total, group) => total + group.manifests.length, 0)
  const addedManifests = groups.reduce((total, group) => total + group.expectedManifests, 0)
  const manifestCount = facts.manifestCount - rewrittenManifests + addedManifests
  return { rewrittenManifests, addedManifests, scoreAfter: scoreTable({ ...facts, manifestCount }).score }
}

function proposeActions(inspection: Inspection, projections: Projections): HealthAction[] {
  return Object.values(PROPOSALS).flatMap((propose) => propose(inspection, projections) ?? [])
}

type Propose = (inspection: Inspection, projections: Projections) => HealthAction | undefined

/** What is recommended of each operation, in the order of a report. */
const PROPOSALS: Readonly<Record<RecommendedKind, Propose>> = {
  compact({ facts, compaction }, { compaction: projected }) {
    if (projected === undefined || compaction?.kind !== 'projected') return undefined
    return {
      operation: 'compact',
      reason: explainCompaction(facts, projected),
      options: compaction.request,
      projected: {
        rewritten_data_files_count: compaction.rewrittenFiles,
        added_data_files_count: compaction.addedFiles,
        rewritten_bytes_count: compaction.rewrittenBytes,
        removed_delete_files_count: compaction.removedDeleteFiles,
        data_file_count: compaction.factsAfter.dataFiles.count,
        ...(projected.overlaps && { overlapping_files_mean: Math.round(projected.overlaps.after) }),
        score: projected.scoreAfter,
      },
    }
  },
  convert_deletes(_, { conversion }) {
    if (conversion === undefined) return undefined
    return {
      operation: 'convert_deletes',
      reason: explainConversion(conversion),
      options: {},
      projected: {
        converted_delete_files_count: conversion.convertedFiles,
        added_delete_files_count: conversion.addedFiles,
        read_bytes_count: conversion.readBytes,
        score: conversion.scoreAfter,
      },
    }
  },
  rewrite_position_deletes(_, { deletes }) {
    if (deletes === undefined) return undefined
    return {
      operation: 'rewrite_position_deletes',
      reason: explainDeleteRewrite(deletes),
      options: {},
      projected: {
        rewritten_delete_files_count: deletes.rewrittenFiles,
        added_delete_files_count: deletes.addedFiles,
        rewritten_bytes_count: deletes.rewrittenBytes,
        score: deletes.scoreAfter,
      },
    }
  },
  expire({ facts }, { expiry }) {
    if (expiry === undefined) return undefined
    return {
      operation: 'expire',
      reason: explainExpiry(facts, expiry),
      options: {},
      projected: {
        expired_snapshots_count: expiry.expiredSnapshots,
        snapshot_count: facts.snapshotCount - expiry.expiredSnapshots,
        score: expiry.scoreAfter,
      },
    }
  },
  rewrite_manifests(_, { manifests }) {
    if (manifests === undefined) return undefined
    return {
      operation: 'rewrite_manifests',
      reason: explainManifestRewrite(manifests),
      options: {},
      projected: {
        rewritten_manifests_count: manifests.rewrittenManifests,
        added_manifests_count: manifests.addedManifests,
        score: manifests.scoreAfter,
      },
    }
  },
}

/** Approximate memory size of an inspected table, bytes. */
function weigh({ inspection: { partitions, manifests }, ranges: { ranges } }: Inspected): number {
  return 5000 + partitions.length * 500 + manifests.length * 600 + weighRanges(ranges)
}
