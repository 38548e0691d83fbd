import { z } from 'zod'
import type { FieldOf, RequestedKind } from '../../domain/tables/operations.ts'
import { STRATEGIES, MAX_CURVE_COLUMNS } from '../../domain/tables/strategies.ts'
import { snapshotId, tableName, timeInput } from '../common.ts'

/** Fields of every maintenance and evolve request (docs/api.md#preview). */
const preview = {
  table: tableName,
  dry_run: z.boolean().optional(),
  plan_id: z.string().max(100).optional(),
}

const positive = z.int().min(1)

/** Which engine does the work. */
export const ENGINES = ['auto', 'embedded', 'spark'] as const

const engine = z
  .enum(ENGINES)
  .optional()
  .meta({
    description:
      'Who does it. `auto` (default): Spark, if a server is configured, for more bytes than ENGINE_EMBEDDED_MAX_BYTES and ' +
      'for what the embedded engine refuses; otherwise the embedded engine. `details_json` has `engine` and `engine_reason`',
  })

const CONDITIONS =
  "=, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN, [NOT] LIKE 'x%', IS [NOT] NULL, joined by AND, OR and NOT; no functions or arithmetic"

const where = z
  .string()
  .max(4000)
  .optional()
  .meta({
    description: `Only files that may have matching rows, by partitions and column metrics: ${CONDITIONS}`,
    example: "day >= '2026-03-01' AND (region = 'eu' OR region IS NULL)",
  })

const wherePartitions = where.meta({
  description: `Whole partitions, by conditions on partitioned columns: ${CONDITIONS}`,
  example: "day >= '2026-03-01'",
})

/** Options and defaults of Iceberg's `rewrite_data_files`. */
export const compactRequest = z.strictObject({
  ...preview,
  engine,
  method: z
    .enum(['auto', 'rewrite', 'copy'])
    .optional()
    .meta({
      description:
        'How rows get into new files: `rewrite` reads and writes them, `copy` copies row groups byte for byte under a new footer and ' +
        'leaves other files as they are, with the reason in `failures`. `auto` (default) copies where later reads do not become slower, ' +
        'and rewrites the rest. Only the embedded engine copies.',
    }),
  min_row_group_size_bytes: z.int().min(0).optional().meta({
    description: 'Row groups with fewer bytes are not copied (default 8 MiB): small ones make later reads slower.',
  }),
  strategy: z
    .enum(STRATEGIES)
    .optional()
    .meta({
      description:
        'How rows are laid out: `binpack` (default) keeps their order, `sort` sorts them, `zorder` and `hilbert` put rows near ' +
        'each other that have similar values in all `columns`. All but `binpack` also rewrite files whose bounds overlap most.',
    }),
  sort_order: z.string().max(4000).optional().meta({
    description:
      'name [ASC|DESC] [NULLS FIRST|LAST], separated by commas; names with special characters in double quotes or backticks',
    example: 'customer ASC, "total, net" DESC NULLS LAST',
  }),
  columns: z
    .array(z.string().min(1).max(1000))
    .min(1)
    .max(MAX_CURVE_COLUMNS)
    .optional()
    .meta({
      description:
        'Columns of `zorder` and `hilbert`, of primitive types; default: those of the table property `lockhouse.cluster-by`',
      example: ['customer', 'ordered_on'],
    }),
  where,
  target_file_size_bytes: positive.optional(),
  min_file_size_bytes: z.int().min(0).optional(),
  max_file_size_bytes: positive.optional(),
  min_input_files: positive.optional(),
  rewrite_all: z.boolean().optional(),
  delete_file_threshold: positive.optional(),
  delete_ratio_threshold: z.number().gt(0).max(1).optional(),
  max_files_to_rewrite: positive.optional(),
  max_bytes_to_rewrite: positive.optional().meta({
    description: 'Rewrite at most so many bytes: first the files whose bounds overlap most, if rows are laid out anew',
  }),
  partial_progress: z.boolean().optional(),
  verify: z
    .enum(['values', 'counts'])
    .optional()
    .meta({
      description:
        'What is checked before the commit. `values` (default): the new files have all values, in the same rows. ' +
        '`counts`: only the number of rows. Spark does `counts`, after its commit.',
    }),
  on_conflict: z
    .enum(['carry_over', 'fail'])
    .optional()
    .meta({
      description:
        'What happens when others commit position deletes or deletion vectors for files that are being rewritten. ' +
        '`carry_over` (default): the new files get these deletes in the same commit. `fail`: the operation ends with ' +
        'COMMIT_CONFLICT. Only the embedded engine does `carry_over`.',
    }),
})

/** Options and defaults of Iceberg's `expire_snapshots`. */
export const expireRequest = z.strictObject({
  ...preview,
  older_than: timeInput.optional(),
  retain_last: positive.optional(),
  snapshot_ids: z.array(snapshotId).min(1).max(10_000).optional(),
  clean_expired_metadata: z.boolean().optional(),
  delete_foreign_files: z
    .boolean()
    .optional()
    .meta({
      description:
        "LeadDataEngineer only: also delete expired files outside of the table's folders, such as imported ones, if " +
        'they are in an allowed location and no other table needs them',
    }),
})

const columnName = z.string().min(1).max(1000)

const force = z.boolean().optional().meta({
  description:
    'LeadDataEngineer only: even if versions in uat or production use the column. Never while a running pipeline uses it',
})

/** Fields of a new column. */
export const addColumnFields = z.strictObject({
  ...preview,
  name: columnName.meta({ description: 'A dotted name adds into a struct' }),
  type: z.string().min(1).max(10_000).meta({ example: 'STRING' }),
  after: columnName.optional(),
  first: z.literal(true).optional(),
  comment: z.string().max(10_000).nullable().optional(),
})

/** Fields of a rename. */
export const renameColumnFields = z.strictObject({ ...preview, name: columnName, new_name: columnName, force })

/** Fields of a dropped column. */
export const dropColumnFields = z.strictObject({ ...preview, name: columnName, force })

export const addColumnRequest = orPlan(addColumnFields.partial({ name: true, type: true }), ['name', 'type'])
export const renameColumnRequest = orPlan(renameColumnFields.partial({ name: true, new_name: true }), [
  'name',
  'new_name',
])
export const dropColumnRequest = orPlan(dropColumnFields.partial({ name: true }), ['name'])

/** Makes fields optional if the request has a `plan_id`, whose plan contains them. */
function orPlan<T extends z.ZodObject>(request: T, required: readonly string[]): T {
  return request
    .superRefine((body, context) => {
      const given: Readonly<Record<string, unknown>> = { ...body }
      if (given['plan_id'] !== undefined) return
      for (const name of required) {
        if (given[name] === undefined) context.addIssue({ code: 'custom', path: [name], message: 'is required' })
      }
    })
    .meta({ anyOf: [{ required: [...required] }, { required: ['plan_id'] }] })
}

/** Options and defaults of Iceberg's `rewrite_position_delete_files`. */
export const rewriteDeletesRequest = z.strictObject({
  ...preview,
  where: wherePartitions,
  target_file_size_bytes: positive.optional().meta({
    description: 'Default: the table property `write.delete.target-file-size-bytes`, or 64 MiB',
  }),
  min_input_files: positive.optional().meta({ description: 'Small delete files of a partition; default 5' }),
  rewrite_all: z.boolean().optional(),
})

/** A conversion of equality deletes. */
export const convertDeletesRequest = z.strictObject({ ...preview, where: wherePartitions })

/** Options of Iceberg's `rewrite_manifests`. */
export const rewriteManifestsRequest = z.strictObject({ ...preview, engine })

/** Options of Iceberg's `remove_orphan_files`: never younger than 24 hours, 3 days by default. */
export const removeOrphansRequest = z.strictObject({ ...preview, engine, older_than: timeInput.optional() })

/** Iceberg's `rollback_to_snapshot` and `rollback_to_timestamp`. */
export const rollbackRequest = z
  .strictObject({
    ...preview,
    snapshot_id: snapshotId.optional(),
    to_timestamp: timeInput.optional().meta({
      description:
        'In place of `snapshot_id`: a time in the past. The target is the snapshot that was current at that time by the ' +
        'snapshot log; it must be an ancestor of the current snapshot',
    }),
    accept_pipelines: z
      .array(z.string().min(1).max(100))
      .max(1000)
      .optional()
      .meta({
        description:
          'Stopped pipelines that the rollback may break, or whose rows it may remove, by id; `affected_pipelines` of ' +
          'a preview lists them and what would happen. Never pipelines that run. May be given together with `plan_id`',
      }),
  })
  .superRefine(({ snapshot_id: id, to_timestamp: time, plan_id: plan }, context) => {
    if (id !== undefined && time !== undefined) {
      const message = 'cannot be given together with snapshot_id: send one of them'
      context.addIssue({ code: 'custom', path: ['to_timestamp'], message })
    }
    if (id === undefined && time === undefined && plan === undefined) {
      context.addIssue({ code: 'custom', path: ['snapshot_id'], message: 'is required, or to_timestamp' })
    }
  })
  .meta({
    anyOf: [{ required: ['snapshot_id'] }, { required: ['to_timestamp'] }, { required: ['plan_id'] }],
    not: { required: ['snapshot_id', 'to_timestamp'] },
  })

/** Fields of each request beside the options of its operation. */
type CommonField = keyof typeof preview

type RequestSchema<Field extends string> = z.ZodObject<{ readonly [Name in Field | CommonField]: z.ZodType }>

/** The request of each operation. */
export const OPERATION_REQUESTS = {
  compact: compactRequest,
  expire: expireRequest,
  convert_deletes: convertDeletesRequest,
  rewrite_position_deletes: rewriteDeletesRequest,
  rewrite_manifests: rewriteManifestsRequest,
  remove_orphans: removeOrphansRequest,
  add_column: addColumnRequest,
  rename_column: renameColumnRequest,
  drop_column: dropColumnRequest,
  rollback: rollbackRequest,
} satisfies { readonly [Kind in RequestedKind]: RequestSchema<FieldOf<Kind>> }

export const operationResult = z
  .object({
    success: z.literal(true),
    operation: z.string(),
    operation_id: z.string().nullable().meta({ description: 'null for a preview, which runs nothing' }),
    table: z.string(),
    details_json: z.string().meta({ description: 'A JSON document encoded as a string' }),
    plan_id: z.string().optional(),
  })
  .meta({ id: 'TableOperationResult' })

export type AddColumnRequest = z.infer<typeof addColumnFields>
export type RenameColumnRequest = z.infer<typeof renameColumnFields>
export type DropColumnRequest = z.infer<typeof dropColumnFields>
