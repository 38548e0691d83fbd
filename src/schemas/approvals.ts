import { z } from 'zod'
import { APPROVAL_STATUSES } from '../domain/approvals.ts'
import { ROLES } from '../domain/roles.ts'
import { bytes, count, pageQuery, snapshotId, timestamp } from './common.ts'
import { environment, resourceId, version, versionDiff, words } from './definitions.ts'
import { deploymentPlan, windowOverride } from './deployments.ts'
import { deployMode, runEnvironment } from './environments.ts'
import { versionValidation } from './node-types.ts'

const approvalFields = {
  id: z.string().meta({ example: 'pr-01k9…' }),
  definition_id: z.string(),
  definition_name: z.string().meta({ description: 'The name when the request was created' }),
  version_id: z.string(),
  version: z.int().min(1),
  from_environment: environment,
  to_environment: environment,
  status: z.enum(APPROVAL_STATUSES),
  approvals_given: count.meta({ description: 'Approvals of different users that count' }),
  approvals_required: count.nullable().meta({ description: 'By the rule as it is now; null once decided' }),
  opens_at: timestamp.nullable().meta({
    description: 'When the window opens that it waits for; null: it does not wait, or none opens within 400 days',
  }),
  expires_at: timestamp.nullable().meta({ description: 'When it expires without more approvals' }),
  requested_by: z.string(),
  requested_at: timestamp,
  decided_by: z.string().nullable(),
  decided_at: timestamp.nullable(),
  reason: z.string().nullable().meta({
    description:
      'Why it was rejected; `withdrawn` if its requester withdrew it, `expired` if approvals were missing in time',
  }),
  override: windowOverride.nullable(),
  content_hash: z
    .string()
    .meta({ description: 'Hash of the requested content; a decision applies only to this content' }),
}

export const approval = z.object(approvalFields).meta({ id: 'ApprovalRequest' })

const givenApproval = z
  .object({
    user: z.string(),
    approved_at: timestamp,
    counts: z.boolean().meta({ description: 'False: of the requester, whom the rule forbids to decide' }),
  })
  .meta({ id: 'GivenApproval' })

const deciders = z
  .object({
    role: z.enum(ROLES),
    except: z.array(z.object({ user: z.string(), because: z.enum(['has_approved', 'requester']) })),
    known_users: z.array(z.string()).meta({
      description: 'Users with a token of the role, the first 50; an identity provider may know others',
    }),
  })
  .meta({ id: 'ApprovalDeciders' })

const affectedColumn = z.object({
  name: z.string(),
  type: z
    .string()
    .nullable()
    .meta({ description: 'In the sink; of the result when the sink has no such column; null: no table can have it' }),
  in_sink: z.boolean(),
  written_now: z.boolean().meta({ description: 'By the version that runs there now' }),
  would_write: z.boolean().meta({ description: 'By the requested version' }),
})

/** What a deployment of a requested version would change in its target environment (docs/api.md#approvals). */
export const approvedDeployment = z
  .object({
    environment: runEnvironment,
    deploy: deployMode,
    plan: deploymentPlan,
    graph: version.pick({ nodes: true, edges: true }).meta({
      description: "With the environment's parameters in their places; secrets as `env:NAME`",
    }),
    diff: versionDiff.nullable().meta({ description: 'From the version that runs there; null: none does' }),
    validation: versionValidation.meta({ description: "Against the environment's tables" }),
    sink: z
      .object({ table: z.string(), exists: z.boolean(), columns: z.array(affectedColumn) })
      .nullable()
      .meta({
        description: 'Columns that rows would fill, or no longer fill; null if problems prevent determining them',
      }),
  })
  .meta({ id: 'ApprovedDeployment' })

export const approvalDetail = z
  .object({
    ...approvalFields,
    approvals: z.array(givenApproval).meta({ description: 'Oldest first' }),
    approvals_missing: count,
    may_decide: deciders.nullable().meta({ description: 'Who may still approve; null once decided' }),
    version_snapshot: version.meta({ description: 'The version when the request was created' }),
    diff: versionDiff.meta({
      description:
        'Compared with the newest version in the target environment; once decided, with the newest at that time',
    }),
    deploys: approvedDeployment
      .nullable()
      .meta({ description: 'What a deployment would change there; null when decided, and when it cannot be said now' }),
    deploys_unavailable: z.string().nullable().meta({
      description: 'Why `deploys` of a pending request cannot be said now, such as a catalog that is not available',
    }),
  })
  .meta({ id: 'ApprovalRequestDetail' })

export const approvalList = z.array(approval).meta({ id: 'ApprovalRequestList' })

export const listApprovalsQuery = pageQuery.extend({ status: z.enum(APPROVAL_STATUSES).optional() })

export const approvalParams = z.strictObject({ req_id: resourceId })

export const approveRequest = z.strictObject({ comment: words.optional() })
export const rejectRequest = z.strictObject({ reason: words })
export const overrideRequest = z.strictObject({ reason: words })
export const rehearseRequest = z.strictObject({
  batches: z
    .int()
    .min(1)
    .max(20)
    .default(3)
    .meta({ description: 'How many of the newest appended snapshots of each source table to read' }),
})
export const commentRequest = z.strictObject({ comment: words })

export const comment = z
  .object({
    id: z.string().meta({ example: 'cmt-01k9…' }),
    request_id: z.string(),
    author: z.string(),
    comment: z.string(),
    created_at: timestamp,
  })
  .meta({ id: 'Comment' })

export const commentList = z.array(comment).meta({ id: 'CommentList' })

export const pendingApprovals = z
  .object({
    count: count.meta({ description: 'Number of all pending requests, including those on other pages' }),
    requests: z.array(approval),
  })
  .meta({ id: 'PendingApprovals' })

const rehearsalColumn = z.object({
  name: z.string(),
  type: z.string().meta({ description: 'As Iceberg writes it', example: 'decimal(10,2)' }),
})

/** Rows of a sample, with one value per column. */
const sampleRows = (side: string) =>
  z
    .array(z.array(z.unknown()))
    .max(20)
    .meta({
      description:
        `Some rows that only the ${side} has, or has more often, each once; values in the order of its columns. Longs, ` +
        'decimals and times are texts; nested values are texts too',
    })

const rehearsalCheck = z
  .object({
    node_id: z.string(),
    name: z.string().meta({ description: 'The expectation, or the table of a lookup whose keys must be unique' }),
    failed: count,
    total: count,
    would_stop: z.boolean().meta({ description: 'Whether the pipeline would stop instead of writing these rows' }),
  })
  .meta({ id: 'RehearsalCheck' })

export const rehearsal = z
  .object({
    success: z.literal(true),
    request_id: z.string(),
    candidate: z
      .object({
        version_id: z.string(),
        version: z.int().min(1),
        rows: count,
        columns: z.array(rehearsalColumn),
        checks: z.array(rehearsalCheck),
        rows_dropped: count,
        rows_diverted: count,
      })
      .meta({ description: 'The requested version' }),
    base: z
      .object({
        version_id: z.string(),
        version: z.int().min(1),
        is_running: z.boolean().meta({ description: 'Whether it runs there; false: nothing does' }),
        rows: count.nullable(),
        columns: z.array(rehearsalColumn).nullable(),
        checks: z.array(rehearsalCheck).nullable(),
        rows_dropped: count.nullable(),
        rows_diverted: count.nullable(),
        problem: z
          .string()
          .nullable()
          .meta({ description: 'Why it cannot run; the candidate is then compared with nothing' }),
      })
      .nullable()
      .meta({
        description:
          'The version that runs in the target environment, or the newest there if none does; null: there is none',
      }),
    inputs: z
      .array(
        z.object({
          table: z.string(),
          role: z.enum(['source', 'lookup']),
          snapshot_ids: z.array(snapshotId).meta({ description: 'The snapshots whose files were read, oldest first' }),
          files: count,
          rows: count,
          complete: z.boolean().meta({ description: 'False: the limits left out some of these batches' }),
        }),
      )
      .meta({ description: 'What both versions read' }),
    columns: z.array(
      z.object({
        name: z.string(),
        in_candidate: z.boolean(),
        in_base: z.boolean(),
        type_candidate: z.string().nullable(),
        type_base: z.string().nullable(),
        nulls_candidate: count.nullable(),
        nulls_base: count.nullable(),
        distinct_candidate: count.nullable(),
        distinct_base: count.nullable(),
        comparison: z.enum(['value', 'text', 'none']).meta({
          description:
            'How rows are compared by it: values of different types as text, a column that one lacks not at all',
        }),
      }),
    ),
    distinct_counts: z.enum(['exact', 'approximate']),
    rows_only_in_candidate: count,
    rows_only_in_base: count,
    sample_only_in_candidate: sampleRows('candidate'),
    sample_only_in_base: sampleRows('base'),
    samples_truncated: z
      .boolean()
      .meta({ description: 'Whether samples lack rows or parts of values because of their size' }),
    secrets_as_names: z.array(z.string()).meta({
      description:
        'Secrets of the environment (`env:NAME`) that the versions use: their names stood in the places of their values, so rows that depend on them differ from those of a deployment',
    }),
    limits: z.object({
      batches: count,
      files_per_table: count,
      rows_per_table: count,
      bytes_per_table: bytes,
      seconds: z.number().min(0),
      memory_bytes: bytes,
      disk_bytes: bytes,
      sample_rows: count,
      sample_bytes: bytes,
      sample_text_length: count,
    }),
  })
  .meta({ id: 'Rehearsal' })
