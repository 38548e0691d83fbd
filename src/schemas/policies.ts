import { z } from 'zod'
import { policyProblems } from '../domain/policies/policy-problems.ts'
import { type PolicyOperation, POLICY_OPERATIONS } from '../domain/tables/operations.ts'
import {
  bytes,
  count,
  managedBy,
  NO_CONTROL_CHARACTERS,
  nextPageToken,
  pageQuery,
  tableName,
  timestamp,
} from './common.ts'
import { savings } from './tables/receipt.ts'
import {
  compactRequest,
  convertDeletesRequest,
  expireRequest,
  removeOrphansRequest,
  rewriteDeletesRequest,
  rewriteManifestsRequest,
} from './tables/maintenance.ts'
import { policyWindow, timezone } from './windows.ts'

const MAX_GLOBS = 200

const glob = z.string().min(1).max(1000).regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')

/** Options that a policy does not set: the table and the time are those of the run. */
const RUN = { table: true, dry_run: true, plan_id: true } as const

const OPTIONS = {
  compact: compactRequest.omit(RUN),
  convert_deletes: convertDeletesRequest.omit(RUN),
  rewrite_position_deletes: rewriteDeletesRequest.omit(RUN),
  rewrite_manifests: rewriteManifestsRequest.omit(RUN),
  expire: expireRequest.omit({ ...RUN, snapshot_ids: true, delete_foreign_files: true, older_than: true }),
  remove_orphans: removeOrphansRequest.omit({ ...RUN, older_than: true }),
} as const satisfies { readonly [Kind in PolicyOperation]: z.ZodObject }

/** An operation of a policy, with the options that it has as a request, except times and table. */
export const policyOperation = z.discriminatedUnion('operation', [
  member('compact'),
  member('convert_deletes'),
  member('rewrite_position_deletes'),
  member('rewrite_manifests'),
  member('expire'),
  member('remove_orphans'),
])

function member<Kind extends PolicyOperation>(operation: Kind) {
  return z.strictObject({ operation: z.literal(operation), options: OPTIONS[operation].optional() })
}

const when = z
  .strictObject({
    health_below: z.int().min(1).max(100).optional(),
    small_files_over: count.optional(),
    delete_ratio_over: z.number().min(0).max(1).optional(),
    equality_delete_files_over: count.optional(),
    snapshots_over: count.optional(),
    commits_since_last_over: count.optional().meta({
      description: 'Commits since the last run of this operation on the table by this policy',
    }),
    schedule: z
      .strictObject({
        cron: z.string().min(1).max(200).meta({ description: 'Five fields', example: '0 3 * * *' }),
        timezone,
      })
      .optional(),
  })
  .refine((conditions) => Object.keys(conditions).length > 0, 'needs at least one condition')
  .meta({ minProperties: 1, description: 'Due when any of these is true' })

const budget = z.strictObject({
  bytes_per_hour: z.int().min(1).optional().meta({ description: 'Planned bytes of runs that start within an hour' }),
  concurrent_operations: z.int().min(1).max(100).optional(),
})

const policyFields = {
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]*$/, 'must begin with a letter or digit; letters, digits, spaces and . _ -'),
  tables: z.array(glob).min(1).max(MAX_GLOBS),
  except: z.array(glob).max(MAX_GLOBS).optional(),
  priority: z.int().min(0).max(1000).optional().meta({ description: 'The highest governs; default 100' }),
  operations: z
    .array(policyOperation)
    .min(1)
    .max((POLICY_OPERATIONS satisfies readonly z.output<typeof policyOperation>['operation'][]).length)
    .meta({ description: 'Each operation at most once' }),
  when,
  window: policyWindow.optional(),
  budget: budget.optional(),
  cooldown: z
    .string()
    .max(40)
    .regex(/^[1-9]\d{0,3} (minute|hour|day)s?$/, 'must be a number of minutes, hours or days, such as 6 hours')
    .optional()
    .meta({ description: 'Between two runs of an operation on a table; default 1 hour' }),
  mode: z
    .enum(['shadow', 'active'])
    .optional()
    .meta({ description: 'Default: shadow, which decides and runs nothing' }),
}

export const policyRequest = z.strictObject(policyFields)

/** The same with what a schema cannot say; the service answers 422 to what only this refuses. */
export const checkedPolicyRequest = policyRequest.superRefine((policy, context) => {
  for (const { path, message } of policyProblems(policy)) {
    context.addIssue({ code: 'custom', path: path.split('.'), message })
  }
})

export type PolicyRequest = z.output<typeof policyRequest>

export const policyParams = z.strictObject({ policy_id: z.string().max(100) })

/** A policy with its defaults filled in. */
export const policySettings = z.object({
  ...policyFields,
  except: z.array(glob),
  priority: z.int(),
  cooldown: z.string(),
  mode: z.enum(['shadow', 'active']),
})

export type PolicySettings = z.output<typeof policySettings>

/** The settings of a request, with defaults for what it leaves out. */
export function policyWithDefaults(request: PolicyRequest): PolicySettings {
  return {
    ...request,
    except: request.except ?? [],
    priority: request.priority ?? 100,
    cooldown: request.cooldown ?? '1 hour',
    mode: request.mode ?? 'shadow',
  }
}

const receiptSums = z
  .object({
    runs: count,
    files_removed: z.int(),
    delete_files_removed: z.int(),
    bytes_freed: z.int().meta({ description: 'Change of the size of the tables; files in quarantine count as freed' }),
    bytes_rewritten: bytes,
    storage_freed_bytes: z
      .int()
      .meta({ description: 'Change of what is stored; new files of compactions count below 0' }),
    planning_saved_ms: z.number().meta({ description: 'Of one full scan of each table, summed over the runs' }),
    scan_requests_saved: z.int().meta({ description: 'Files that one full scan of each table opens less' }),
    projected: z
      .object({ files_removed: z.int(), delete_files_removed: z.int(), bytes_freed: z.int() })
      .meta({ description: 'What the plans of these runs expected' }),
    money: savings.nullable().meta({ description: 'Null without configured prices' }),
  })
  .meta({ description: 'Measured by the health of tables before and after each run' })

export const policyView = policySettings
  .extend({
    id: z.string(),
    managed_by: managedBy,
    matched_tables: count.meta({ description: 'Tables that match, also those that another policy governs' }),
    suspended_tables: count,
    gains: receiptSums,
    revision: z.int(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Policy' })

export type PolicyView = z.output<typeof policyView>

export const policyList = z
  .object({ success: z.literal(true), policies: z.array(policyView), next_page_token: nextPageToken })
  .meta({ id: 'PolicyList' })

/** What became of an operation that was due. */
export const decisionOutcome = z.enum(['running', 'ran', 'failed', 'cancelled', 'would_run', 'deferred', 'skipped'])

/** Why an operation was deferred or skipped. */
export const decisionReason = z.enum([
  'due',
  'nothing_to_do',
  'no_effect',
  'window_closed',
  'budget_spent',
  'too_many_running',
  'cooldown',
  'table_busy',
  'suspended',
  'refused',
])

export const policyDecision = z
  .object({
    id: z.string(),
    policy_id: z.string(),
    policy_name: z.string(),
    table: z.string(),
    operation: z.enum(POLICY_OPERATIONS),
    outcome: decisionOutcome,
    reason: decisionReason,
    detail: z.string().meta({ description: 'For people: which condition was met, and what it waits for' }),
    operation_id: z.string().nullable(),
    planned_bytes: bytes.nullable(),
    projected_score: z.int().nullable(),
    score_before: z.int().nullable(),
    score_after: z.int().nullable(),
    not_before: timestamp.nullable().meta({ description: 'When it is considered again' }),
    repeated: z.int().min(1).meta({ description: 'How often it was decided like this in a row' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'PolicyDecision' })

export type PolicyDecisionView = z.output<typeof policyDecision>

export const decisionQuery = pageQuery.extend({
  table: tableName.optional(),
  outcome: decisionOutcome.optional(),
})

export const decisionList = z
  .object({ success: z.literal(true), decisions: z.array(policyDecision), next_page_token: nextPageToken })
  .meta({ id: 'PolicyDecisionList' })

const plannedRun = z.object({
  table: z.string(),
  operation: z.enum(POLICY_OPERATIONS),
  at: timestamp.nullable().meta({ description: 'When it could start; null when not within 24 hours' }),
  detail: z.string(),
  planned_bytes: bytes.nullable(),
  score: z.int().nullable(),
  projected_score: z.int().nullable(),
})

export const policyPreview = z
  .object({
    success: z.literal(true),
    matched_count: count,
    matched_tables: z.array(z.string()).meta({ description: 'The first 1,000' }),
    governed_elsewhere_count: count.meta({ description: 'Matching tables that a policy of higher priority governs' }),
    governed_elsewhere_by: z
      .array(z.object({ policy: z.string().meta({ description: 'Name' }), tables: count }))
      .meta({ description: 'The policies that govern these tables, most tables first' }),
    runs: z
      .array(plannedRun)
      .meta({ description: 'What is due now or within 24 hours, worst table first; the first 1,000' }),
    runs_count: count,
    planned_bytes: bytes,
    mean_score: z.number().nullable(),
    projected_mean_score: z.number().nullable(),
  })
  .meta({ id: 'PolicyPreview' })

export const tablePolicy = z
  .object({
    success: z.literal(true),
    table: z.string(),
    is_off: z.boolean().meta({ description: 'The table property `lockhouse.maintenance` is `off`' }),
    operations: z.array(
      z.object({
        operation: z.enum(POLICY_OPERATIONS),
        policy: z.object({ id: z.string(), name: z.string(), mode: z.enum(['shadow', 'active']) }).nullable(),
        overridden: z.array(z.object({ id: z.string(), name: z.string() })),
        is_suspended: z.boolean(),
        last_decision: policyDecision.nullable(),
      }),
    ),
  })
  .meta({ id: 'TablePolicy' })

export const resumeRequest = z.strictObject({ table: tableName.optional() })

export const resumed = z
  .object({ success: z.literal(true), resumed_tables: z.array(z.string()) })
  .meta({ id: 'PolicyResumed' })
