import { count, formatBytes, plural } from '../../lib/text.ts'
import { changeImpact } from '../../schemas/lineage.ts'
import type { ProposableKind } from '../../domain/tables/operations.ts'

/** Details of a dry run, in the column names of Iceberg's procedures. */
export type PlanDetails = Readonly<Record<string, unknown>>

/** Describes a plan in one sentence, with who uses what it changes; undefined when it would do nothing. */
export function describePlan(kind: ProposableKind, tableName: string, plan: PlanDetails): string | undefined {
  const effect = describeEffect(kind, visible(tableName), plan)
  return effect === undefined ? undefined : effect + describeImpact(plan['impact'])
}

function describeEffect(kind: ProposableKind, table: string, plan: PlanDetails): string | undefined {
  switch (kind) {
    case 'compact':
      return describeCompaction(table, plan)
    case 'expire':
      return describeExpiry(table, plan)
    case 'convert_deletes':
      return describeConversion(table, plan)
    case 'rewrite_position_deletes':
      return describeDeleteRewrite(table, plan)
    case 'rewrite_manifests': {
      const rewritten = numberOf(plan, 'rewritten_manifests_count')
      const added = numberOf(plan, 'added_manifests_count')
      return rewritten === 0 ? undefined : `Merge ${plural(rewritten, 'manifest')} of ${table} into ${count(added)}`
    }
    case 'add_column':
      return `Add column ${quoted(plan, 'name')} of type ${quoted(plan, 'type')} to ${table}`
    case 'rename_column':
      return `Rename column ${quoted(plan, 'name')} of ${table} to ${quoted(plan, 'new_name')}`
    case 'drop_column':
      return `Drop column ${quoted(plan, 'name')} of ${table}; its values can no longer be read`
  }
}

function describeCompaction(table: string, plan: PlanDetails): string | undefined {
  const files = numberOf(plan, 'rewritten_data_files_count')
  if (files === 0) return undefined
  const size = formatBytes(numberOf(plan, 'rewritten_bytes_count'))
  return `Rewrite ${plural(files, 'data file')} (${size}) of ${table} into ${count(numberOf(plan, 'added_data_files_count'))}`
}

function describeConversion(table: string, plan: PlanDetails): string | undefined {
  const dangling = numberOf(plan, 'dangling_delete_files_count')
  const converted = numberOf(plan, 'converted_delete_files_count') - dangling
  const dropped = `drop ${plural(dangling, 'delete file')} that no data file needs`
  if (converted === 0) return dangling === 0 ? undefined : `In ${table}, ${dropped}`
  const searched = plural(numberOf(plan, 'searched_data_files_count'), 'data file')
  const into = `Convert ${plural(converted, 'equality delete file')} of ${table} after a search of ${searched} (${formatBytes(numberOf(plan, 'read_bytes_count'))} in total)`
  return dangling === 0 ? into : `${into}, and ${dropped}`
}

function describeDeleteRewrite(table: string, plan: PlanDetails): string | undefined {
  const dangling = numberOf(plan, 'dangling_delete_files_count')
  const merged = numberOf(plan, 'rewritten_delete_files_count') - dangling
  const dropped = `drop ${plural(dangling, 'delete file')} that no data file needs`
  if (merged === 0) return dangling === 0 ? undefined : `In ${table}, ${dropped}`
  const into = `Merge ${plural(merged, 'delete file')} of ${table} into ${count(numberOf(plan, 'added_delete_files_count'))}`
  return dangling === 0 ? into : `${into}, and ${dropped}`
}

function describeExpiry(table: string, plan: PlanDetails): string | undefined {
  const snapshots = numberOf(plan, 'expired_snapshots_count')
  if (snapshots === 0) return undefined
  const files = numberOf(plan, 'deleted_data_files_count')
  const freed = plan['freed_bytes']
  const size = typeof freed === 'number' ? `, ${formatBytes(freed)} in total` : ''
  return `Expire ${plural(snapshots, 'snapshot')} of ${table}; ${plural(files, 'data file')} and the metadata that only they use would be deleted${size}`
}

/** How many pipelines and versions may use the table or column, such as `; 2 pipelines and 1 version may use the column`. */
function describeImpact(found: unknown): string {
  const { data: impact } = changeImpact.safeParse(found)
  if (impact === undefined) return ''
  const users = impact.used_by.filter(({ reads, writes }) =>
    [reads, writes].some((use) => use !== null && use !== 'no'),
  )
  const what = impact.column === null ? 'table' : 'column'
  const pipelines = users.filter(({ pipeline_id: id }) => id !== null).length
  const versions = users.length - pipelines
  if (users.length === 0) return impact.truncated ? '' : `; no pipeline and no version uses the ${what}`
  const counts = [
    ...(pipelines === 0 ? [] : [plural(pipelines, 'pipeline')]),
    ...(versions === 0 ? [] : [plural(versions, 'version')]),
  ]
  return `; ${impact.truncated ? 'at least ' : ''}${counts.join(' and ')} may use the ${what}`
}

/** A number of a plan; 0 when it has none. */
export function numberOf(plan: PlanDetails, name: string): number {
  const value = plan[name]
  return typeof value === 'number' ? value : 0
}

/** A quoted name that cannot look like part of the sentence around it. */
function quoted(plan: PlanDetails, name: string): string {
  const value = plan[name]
  return JSON.stringify(visible(typeof value === 'string' ? value : ''))
}

/** Text with invisible characters and direction controls escaped. */
export function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
