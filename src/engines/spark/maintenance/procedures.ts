import { quoteSparkName } from '../connect/plan/quote-spark-name.ts'
import { textLiteral } from '../connect/plan/text-literal.ts'
import type { SparkSql } from '../connect/spark-plan.ts'

/** A table on a Spark server: the name that Spark gives the catalog, then the name of the table there. */
export interface SparkTableName {
  readonly catalog: string
  readonly namespace: readonly string[]
  readonly name: string
}

/** What `rewrite_data_files` is asked for. */
export interface RewriteDataFiles {
  readonly strategy: 'binpack' | 'sort'
  /** In the syntax of Spark, such as `` `a` ASC NULLS FIRST``; needs Iceberg's SQL extensions on the server. */
  readonly sortOrder?: string
  /** A condition in the syntax of Spark. */
  readonly where?: string
  /** By the names of Iceberg's `RewriteDataFiles`; values as text. */
  readonly options: Readonly<Record<string, string>>
}

/** `CALL … rewrite_data_files`. */
export function rewriteDataFiles(table: SparkTableName, asked: RewriteDataFiles): SparkSql {
  const { strategy, sortOrder, where, options } = asked
  const entries = Object.entries(options).flatMap(([key, value]) => [textLiteral(key), textLiteral(value)])
  return call(table, 'rewrite_data_files', {
    strategy: textLiteral(strategy),
    ...(sortOrder === undefined ? {} : { sort_order: textLiteral(sortOrder) }),
    options: `map(${entries.join(', ')})`,
    ...(where === undefined ? {} : { where: textLiteral(where) }),
  })
}

/** `CALL … rewrite_manifests`. */
export function rewriteManifests(table: SparkTableName): SparkSql {
  return call(table, 'rewrite_manifests', {})
}

/** `CALL … remove_orphan_files` that only lists: it never deletes. Files changed at `olderThanMs` or later are left out. */
export function listOrphanFiles(table: SparkTableName, olderThanMs: number): SparkSql {
  const time = new Date(olderThanMs).toISOString()
  return call(table, 'remove_orphan_files', { older_than: `TIMESTAMP '${time}'`, dry_run: 'true' })
}

/** Makes Spark forget what it knows of a table. */
export function refreshTable(table: SparkTableName): SparkSql {
  return { query: `REFRESH TABLE ${tableText(table)}` }
}

/** The metadata files of a table as Spark finds it, oldest first, in the column `file`. */
export function metadataFiles(table: SparkTableName): SparkSql {
  return { query: `SELECT file FROM ${tableText(table)}.metadata_log_entries ORDER BY timestamp` }
}

/** A CALL with literals: Spark 4.0 and 4.1 do not bind the parameters of every CALL. */
function call(table: SparkTableName, name: string, values: Readonly<Record<string, string>>): SparkSql {
  const given = { table: textLiteral(tableText(table)), ...values }
  const named = Object.entries(given).map(([key, value]) => `${key} => ${value}`)
  return { query: `CALL ${quoteSparkName([table.catalog])}.system.${name}(${named.join(', ')})` }
}

function tableText({ catalog, namespace, name }: SparkTableName): string {
  return quoteSparkName([catalog, ...namespace, name])
}
