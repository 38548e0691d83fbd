import { isIcebergError } from '../../iceberg/errors.ts'
import { currentSchema, currentSnapshot } from '../../iceberg/metadata/metadata.ts'
import type { Table } from '../../iceberg/metadata/table.ts'
import { planTableCompaction, runCompaction } from '../../maintenance/compaction/compact.ts'
import type { CompactionPlan } from '../../maintenance/compaction/plan.ts'
import { describeCompactionPlan } from '../../maintenance/compaction/result.ts'
import { previewTableCompaction } from '../../maintenance/inspection/preview-compaction.ts'
import {
  measureManifestRewrite,
  previewRewriteManifests,
  runRewriteManifests,
} from '../../maintenance/manifests/rewrite-manifests.ts'
import { loadTarget } from '../../maintenance/operation-commit.ts'
import {
  previewRemoveOrphans,
  type RemoveOrphansInput,
  runRemoveOrphans,
} from '../../maintenance/orphans/orphan-files.ts'
import { chooseEngine, type EngineChoice, type EngineQuestion } from '../../maintenance/spark/choose-engine.ts'
import {
  compactionProgress,
  compactOnSpark,
  requireSparkForCompaction,
} from '../../maintenance/spark/compact-on-spark.ts'
import { rewriteManifestsOnSpark } from '../../maintenance/spark/manifests-on-spark.ts'
import { withSparkTable } from '../../maintenance/spark/open-table.ts'
import { sparkOrphanLister } from '../../maintenance/spark/orphans-on-spark.ts'
import type { SparkRunContext } from '../../maintenance/spark/run-procedure.ts'
import type { SparkEngine } from '../../maintenance/spark/spark-engine.ts'
import { type Action, type ActionHandle, type ActionInput, ledgerHooks, quarantineIn } from './action.ts'
import { sparkHooks } from './spark-hooks.ts'

/** Compaction, by the embedded engine or by Spark. */
export const compactAction: Action = {
  async preview(input) {
    const planned = await planFor(input, (table) => previewTableCompaction(table, input.request, input.totals))
    const { table, choice, spark } = planned
    const catalogName = input.catalog.name
    if (spark !== undefined) await requireSparkForCompaction({ table, plan: planned.plan, spark, catalogName })
    const preview = describeCompactionPlan(planned.plan)
    return { ...preview, ...(spark === undefined ? {} : { verified: 'counts' as const }), ...named(choice) }
  },
  async run(input, handle) {
    const planned = await planFor(input, (loaded) => planTableCompaction(loaded, input.request))
    const { table, plan, choice, spark } = planned
    if (spark !== undefined) {
      const onProgress: SparkRunContext['onProgress'] = (progress) =>
        handle.progress(wireProgress(compactionProgress(plan.totals, progress)))
      const context = { ...sparkContext(input, handle, { spark, table }), onProgress }
      return { ...(await compactOnSpark({ table, plan, context })), ...named(choice) }
    }
    const details = await runCompaction({
      ...input,
      plan,
      operationId: handle.id,
      signal: handle.signal,
      hooks: { ...ledgerHooks(handle), onProgress: (progress) => handle.progress(wireProgress(progress)) },
    })
    return { ...details, ...named(choice) }
  },
}

/** Rewriting manifests, by this process or by Spark. */
export const rewriteManifestsAction: Action = {
  async preview(input) {
    const { table, choice } = await choiceForManifests(input)
    await requireSpark(input, choice, table)
    return { ...(await previewRewriteManifests(input)), ...named(choice) }
  },
  async run(input, handle) {
    const { table, choice } = await choiceForManifests(input)
    const spark = sparkOf(input, choice)
    const details =
      spark === undefined
        ? await runRewriteManifests({
            ...input,
            operationId: handle.id,
            signal: handle.signal,
            hooks: ledgerHooks(handle),
          })
        : await rewriteManifestsOnSpark(table, sparkContext(input, handle, { spark, table }))
    return { ...details, ...named(choice) }
  },
}

/** Removing orphan files: Spark may list them, and this process judges and removes them. */
export const removeOrphansAction: Action = {
  async preview(input) {
    const { choice, removal } = await removalOf(input, 'preview')
    return { ...(await previewRemoveOrphans(removal)), ...named(choice) }
  },
  async run(input, handle) {
    const { choice, removal } = await removalOf(input, handle.id)
    const run = { ...removal, signal: handle.signal, confirm: () => handle.confirm() }
    return { ...(await runRemoveOrphans(run)), ...named(choice) }
  },
}

/** A plan of the embedded engine (`P`), or the one that Spark needs. */
type PlannedCompaction<P> = { readonly table: Table; readonly choice: EngineChoice } & (
  | { readonly spark: undefined; readonly plan: P }
  | { readonly spark: SparkEngine; readonly plan: CompactionPlan }
)

/** Plans for the embedded engine first: what it refuses is a reason for Spark. */
async function planFor<P extends Pick<CompactionPlan, 'totals'>>(
  input: ActionInput,
  planEmbedded: (table: Table) => Promise<P>,
): Promise<PlannedCompaction<P>> {
  const table = await loadTarget(input)
  const plan = await planEmbedded(table).catch(asRefusal)
  const refusal = plan instanceof Error ? plan : await writeRefusal(input, table)
  const choice = choose(input, {
    what: 'the plan rewrites',
    bytes: plan instanceof Error ? 0 : plan.totals.bytes,
    refusal: refusal?.message,
    ...sparkRefusal(input.request),
  })
  const spark = sparkOf(input, choice)
  if (spark !== undefined) {
    return { table, choice, spark, plan: await planTableCompaction(table, input.request, 'spark') }
  }
  if (plan instanceof Error) throw plan
  return { table, choice, spark, plan }
}

const ONLY_EMBEDDED_OPTIONS = {
  verify: 'values',
  on_conflict: 'carry_over',
  strategy: 'hilbert',
  method: 'copy',
} as const

/** Options that only the embedded engine has, when the request names them. */
function sparkRefusal(request: ActionInput['request']): { readonly sparkRefusal?: string } {
  const only = Object.entries(ONLY_EMBEDDED_OPTIONS).find(([field, value]) => request[field] === value)
  if (only !== undefined) return { sparkRefusal: `only the embedded engine does ${only[0]}: "${only[1]}"` }
  if (request['max_bytes_to_rewrite'] === undefined) return {}
  return { sparkRefusal: 'only the embedded engine does max_bytes_to_rewrite' }
}

/** Why the embedded engine cannot write the table's types; asked only where another engine can. */
async function writeRefusal({ engine, engines }: ActionInput, { metadata }: Table): Promise<Error | undefined> {
  if (engines.spark === undefined) return undefined
  return engine.requireWritable?.(currentSchema(metadata)).then(() => undefined, asRefusal)
}

function asRefusal(error: unknown): Error {
  if (isIcebergError(error, 'UNSUPPORTED')) return error
  throw error
}

async function choiceForManifests(input: ActionInput) {
  const table = await loadTarget(input)
  const bytes = await measureManifestRewrite(table)
  return { table, choice: choose(input, { what: 'the plan rewrites manifests of', bytes }) }
}

/** The files to list are not known before; the more data a table has, the longer is its list. */
async function removalOf(input: ActionInput, id: string) {
  const { metadata } = await loadTarget(input)
  const bytes = Number(currentSnapshot(metadata)?.summary['total-files-size'] ?? 0)
  const choice = choose(input, { what: 'the table has', bytes })
  const spark = sparkOf(input, choice)
  const removal: RemoveOrphansInput = {
    ...input,
    quarantine: quarantineIn(input, id),
    list: spark === undefined ? undefined : sparkOrphanLister(spark, input.catalog.name),
  }
  return { choice, removal }
}

type Question = Omit<EngineQuestion, 'requested' | 'hasSpark' | 'maxBytes'>

function choose({ engines, requestedEngine, plannedEngine }: ActionInput, question: Question): EngineChoice {
  const requested = plannedEngine?.engine ?? requestedEngine
  const { spark, embeddedMaxBytes: maxBytes } = engines
  const choice = chooseEngine({ ...question, requested, hasSpark: spark !== undefined, maxBytes })
  return plannedEngine ?? choice
}

function sparkOf({ engines }: ActionInput, { engine }: EngineChoice): SparkEngine | undefined {
  return engine === 'spark' ? engines.spark : undefined
}

async function requireSpark(input: ActionInput, choice: EngineChoice, table: Table): Promise<void> {
  const spark = sparkOf(input, choice)
  if (spark === undefined) return
  await withSparkTable({ spark, catalogName: input.catalog.name, table }, async () => undefined)
}

function sparkContext(
  input: ActionInput,
  handle: ActionHandle,
  { spark, table }: { readonly spark: SparkEngine; readonly table: Table },
): SparkRunContext {
  return {
    catalog: input.catalog,
    identifier: input.identifier,
    engine: input.engine,
    maxBytes: input.engines.embeddedMaxBytes,
    spark,
    signal: handle.signal,
    baseSnapshotId: table.metadata.currentSnapshotId,
    hooks: sparkHooks(handle),
  }
}

function named({ engine, reason }: EngineChoice) {
  return { engine, engine_reason: reason }
}

function wireProgress(progress: ReturnType<typeof compactionProgress>) {
  return {
    files_done: progress.filesDone,
    files_total: progress.filesTotal,
    bytes_done: progress.bytesDone,
    bytes_total: progress.bytesTotal,
  }
}
