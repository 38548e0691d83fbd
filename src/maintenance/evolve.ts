import { currentSchema } from '../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../iceberg/metadata/metadata.ts'
import { fieldChain, fieldPath, walkFields } from '../iceberg/schema/schema.ts'
import type { Schema } from '../iceberg/schema/schema.ts'
import type { Table } from '../iceberg/metadata/table.ts'
import { parseTypeText } from '../iceberg/schema/type-text.ts'
import { formatType } from '../iceberg/schema/type-names.ts'
import { addColumn, dropColumn, renameColumn } from '../iceberg/update/apply/schema-update.ts'
import type { SchemaChange } from '../iceberg/update/apply/schema-update.ts'
import { commitChange, loadTarget, type OperationRun } from './operation-commit.ts'
import { requireUnchanged } from './operation-hooks.ts'
import type { OperationHooks } from './operation-hooks.ts'

/** A change of one column; dotted names reach into structs. */
export type ColumnChange =
  | {
      readonly kind: 'add_column'
      readonly name: string
      /** As users write it: `STRING`, `decimal(10, 2)`, `struct<a: int>`. */
      readonly type: string
      readonly after?: string
      readonly first?: boolean
      readonly comment?: string
    }
  | { readonly kind: 'rename_column'; readonly name: string; readonly newName: string }
  | { readonly kind: 'drop_column'; readonly name: string }

/** A column that is about to be renamed, dropped, or changed so that not every value of it stays valid. */
export interface TouchedColumn {
  readonly kind: ColumnChange['kind'] | 'alter_column'
  readonly name: string
  readonly fieldId: number
  /** Id of the enclosing top-level column, or of the column itself. */
  readonly topLevelId: number
  /** Names of the enclosing columns and of the column itself, outermost first; it ends at the first list or map. */
  readonly path: readonly string[]
}

export interface EvolveHooks extends OperationHooks {
  /** Before every attempt to rename or drop; throws when something depends on the column. */
  readonly checkUsers?: (column: TouchedColumn) => Promise<void>
}

export interface EvolveInput extends OperationRun {
  readonly change: ColumnChange
  readonly hooks?: EvolveHooks
}

/** A column in a schema, nested ones by dotted path. */
export interface ColumnDetails {
  readonly id: number
  /** The last part of the path. */
  readonly name: string
  readonly path: string
  readonly type: string
  readonly nullable: boolean
  readonly comment: string | null
}

/** Outcome of a schema evolution, or of its dry run. */
export interface EvolveDetails {
  readonly field_id: number
  readonly schema_id_before: number
  readonly schema_id: number
  readonly columns_before: readonly ColumnDetails[]
  readonly columns: readonly ColumnDetails[]
  readonly base_snapshot_id: string | null
  readonly snapshot_id: string | null
}

/** The schema after a change of a column; changes nothing. Errors as {@link runEvolve}. */
export async function previewEvolve(input: EvolveInput): Promise<EvolveDetails> {
  const table = await loadTarget(input)
  const change = await stageColumnChange(table, input)
  return describe(table.metadata, change.schema, change.fieldId)
}

/**
 * Adds, renames or drops a column by field id; data files stay as they are.
 * Errors: `SCHEMA_CHANGE_REFUSED`, `NO_SUCH_COLUMN`, `INVALID_ARGUMENT`, `PLAN_STALE`, those of the catalog.
 */
export async function runEvolve(input: EvolveInput): Promise<EvolveDetails> {
  const { table, staged } = await commitChange(input, async (fresh) => {
    requireUnchanged(fresh, input.expectedMetadataLocation)
    const { requirements, updates, fieldId } = await stageColumnChange(fresh, input)
    return { requirements, updates, writtenFiles: [], before: fresh.metadata, fieldId }
  })
  return describe(staged.before, currentSchema(table.metadata), staged.fieldId)
}

async function stageColumnChange(table: Table, { change, hooks }: EvolveInput): Promise<SchemaChange> {
  const staged = planColumnChange(table.metadata, change)
  if (change.kind !== 'add_column') {
    await hooks?.checkUsers?.(touchedColumn(currentSchema(table.metadata), change.kind, staged.fieldId))
  }
  return staged
}

/** A column of a schema that a change is about. */
export function touchedColumn(schema: Schema, kind: TouchedColumn['kind'], fieldId: number): TouchedColumn {
  const chain = fieldChain(schema, fieldId)
  const end = chain.findIndex(({ type }) => type.kind === 'list' || type.kind === 'map')
  const path = chain.slice(0, end < 0 ? chain.length : end + 1).map((field) => field.name)
  const name = fieldPath(schema, fieldId) ?? ''
  return { kind, name, fieldId, topLevelId: chain[0]?.id ?? fieldId, path }
}

function planColumnChange(metadata: TableMetadata, change: ColumnChange): SchemaChange {
  switch (change.kind) {
    case 'add_column': {
      const { name, after, first, comment } = change
      return addColumn(metadata, {
        name,
        type: parseTypeText(change.type),
        ...(after === undefined ? {} : { after }),
        ...(first === undefined ? {} : { first }),
        ...(comment === undefined ? {} : { doc: comment }),
      })
    }
    case 'rename_column':
      return renameColumn(metadata, { name: change.name, newName: change.newName })
    case 'drop_column':
      return dropColumn(metadata, { name: change.name })
  }
}

function describe(before: TableMetadata, after: Schema, fieldId: number): EvolveDetails {
  const snapshotId = before.currentSnapshotId?.toString() ?? null
  return {
    field_id: fieldId,
    schema_id_before: before.currentSchemaId,
    schema_id: after.schemaId,
    columns_before: describeColumns(currentSchema(before)),
    columns: describeColumns(after),
    base_snapshot_id: snapshotId,
    snapshot_id: snapshotId,
  }
}

/** Columns of a schema with nested ones by dotted path, in order, types as Iceberg writes them. */
export function describeColumns(schema: Schema): ColumnDetails[] {
  return [...walkFields(schema)].map(({ field, path }) => ({
    id: field.id,
    name: field.name,
    path,
    type: formatType(field.type),
    nullable: !field.required,
    comment: field.doc ?? null,
  }))
}
