import { IcebergError } from '../../iceberg/errors.ts'
import type { DataFile } from '../../iceberg/manifest/manifest.ts'
import { currentSchema, currentSpec } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import type { PartitionTuple } from '../../iceberg/partitioning/partitioning.ts'
import { bindCondition } from './bind.ts'
import type { BoundCondition } from './bind.ts'
import { mayMatchMetrics } from './metrics-filter.ts'
import type { FileMetrics } from './metrics-filter.ts'
import { conditionsOf, mapConditions, parseWhere } from './parser.ts'
import type { WhereTree } from './parser.ts'
import { partitionTest } from './partition-filter.ts'
import type { PartitionTest } from './partition-filter.ts'

/** What decides whether a file may have matching rows. */
export type FilteredFile = Pick<DataFile, 'specId' | 'partition'> & FileMetrics

/** A `where` text over the files of a table. */
export interface FileFilter {
  /** Whether a file may have matching rows; never wrongly false. */
  readonly mayMatch: (file: FilteredFile) => boolean
  /** The columns whose metrics are of use. */
  readonly columnIds: ReadonlySet<number>
}

/** The files that an operation chooses by a `where` text: by partitions and metrics, or by whole partitions only. */
export interface FilterOptions {
  readonly by: 'files' | 'partitions'
}

/**
 * Compiles a `where` text (docs/api.md#conditions) against a table. Conditions are decided by fields of a file's partition spec and by
 * its metrics; a condition that neither decides may match. With `by: 'partitions'`, every column must be the source of a field of
 * the current spec that can decide its condition, because nothing else chooses. NULL matches `IS NULL` only, as in SQL.
 * Throws `INVALID_ARGUMENT` (naming the column or the literal), `NO_SUCH_COLUMN`.
 */
export function compileWhere(where: string, metadata: TableMetadata, { by }: FilterOptions): FileFilter {
  const schema = currentSchema(metadata)
  const bound = mapConditions(parseWhere(where), (condition) => bindCondition(condition, schema))
  if (by === 'partitions') for (const condition of conditionsOf(bound)) requirePartitioned(condition, metadata)
  const tree = mapConditions(bound, (condition) => decide(condition, metadata))
  return {
    mayMatch: (file) => evaluate(tree, file),
    columnIds: new Set(conditionsOf(bound).map(({ fieldId }) => fieldId)),
  }
}

type Decide = (file: FilteredFile) => boolean

function decide(condition: BoundCondition, metadata: TableMetadata): Decide {
  const bySpec = new Map(metadata.partitionSpecs.map((spec) => [spec.specId, testsOf(spec.fields, condition)]))
  const mayMatchPartition = (specId: number, partition: PartitionTuple): boolean =>
    (bySpec.get(specId) ?? []).every(({ position, test }) => test(partition[position] ?? null))
  return (file) => mayMatchPartition(file.specId, file.partition) && mayMatchMetrics(file, condition)
}

function evaluate(tree: WhereTree<Decide>, file: FilteredFile): boolean {
  if (tree.kind === 'condition') return tree.condition(file)
  return tree.kind === 'and'
    ? tree.parts.every((part) => evaluate(part, file))
    : tree.parts.some((part) => evaluate(part, file))
}

type PartitionFields = TableMetadata['partitionSpecs'][number]['fields']

function testsOf(
  fields: PartitionFields,
  condition: BoundCondition,
): readonly { readonly position: number; readonly test: PartitionTest }[] {
  return fields.flatMap((field, position) => {
    const test = field.sourceId === condition.fieldId ? partitionTest(field, condition) : undefined
    return test === undefined ? [] : [{ position, test }]
  })
}

function requirePartitioned(condition: BoundCondition, metadata: TableMetadata): void {
  if (testsOf(currentSpec(metadata).fields, condition).length > 0) return
  throw new IcebergError(
    'INVALID_ARGUMENT',
    `where: column "${condition.column}" is not partitioned in a way that can decide this condition; the operation chooses whole partitions only`,
  )
}
