import { quoteSparkName } from '../connect/plan/quote-spark-name.ts'
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

/** Spark 4.0 binds a CALL before its parameters unless a function is among its arguments: then it refuses it. */
const TABLE = 'table => concat(:table)'

/** `CALL … rewrite_data_files`: values are arguments, only names of the catalog are in the text. */
export function rewriteDataFiles(table: SparkTableName, asked: RewriteDataFiles): SparkSql {
  const { strategy, sortOrder, where, options } = asked
  const entries = Object.entries(options)
  const names = entries.flatMap((_, index) => [`:key${index}`, `:value${index}`])
  const values = entries.flatMap(([key, value], index) => [
    [`key${index}`, key],
    [`value${index}`, value],
  ])
  const parameters = [
    TABLE,
    'strategy => :strategy',
    ...(sortOrder === undefined ? [] : ['sort_order => :sort_order']),
    `options => map(${names.join(', ')})`,
    ...(where === undefined ? [] : ['where => :where']),
  ]
  return {
    query: `${procedure(table, 'rewrite_data_files')}(${parameters.join(', ')})`,
    args: {
      table: tableText(table),
      strategy,
      ...(sortOrder === undefined ? {} : { sort_order: sortOrder }),
      ...(where === undefined ? {} : { where }),
      ...Object.fromEntries(values),
    },
  }
}

/** `CALL … rewrite_manifests`. */
export function rewriteManifests(table: SparkTableName): SparkSql {
  return {
    query: `${procedure(table, 'rewrite_manifests')}(${TABLE})`,
    args: { table: tableText(table) },
  }
}

/** `CALL … remove_orphan_files` that only lists: it never deletes. Files changed at `olderThanMs` or later are left out. */
export function listOrphanFiles(table: SparkTableName, olderThanMs: number): SparkSql {
  return {
    query: `${procedure(table, 'remove_orphan_files')}(${TABLE}, older_than => :older_than, dry_run => true)`,
    args: { table: tableText(table), older_than: { timestampMicros: BigInt(olderThanMs) * 1000n } },
  }
}

/** Makes Spark forget what it knows of a table. */
export function refreshTable(table: SparkTableName): SparkSql {
  return { query: `REFRESH TABLE ${tableText(table)}`, args: {} }
}

/** The metadata files of a table as Spark finds it, oldest first, in the column `file`. */
export function metadataFiles(table: SparkTableName): SparkSql {
  return { query: `SELECT file FROM ${tableText(table)}.metadata_log_entries ORDER BY timestamp`, args: {} }
}

function procedure({ catalog }: SparkTableName, name: string): string {
  return `CALL ${quoteSparkName([catalog])}.system.${name}`
}

function tableText({ catalog, namespace, name }: SparkTableName): string {
  return quoteSparkName([catalog, ...namespace, name])
}
