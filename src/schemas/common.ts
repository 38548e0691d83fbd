import { z } from 'zod'
import { EVENT_TYPE_WISH } from '../domain/event-type.ts'

// Patterns name control characters as ranges: clients compile them in languages that lack `\p{Cc}`.
// White space by its code points: `\s` is not the same in all of them.
const SPACES = String.raw` \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`
const EDGE = String.raw`[^./\\${SPACES}\u0000-\u001f\u007f-\u009f]`
const INNER = String.raw`[^./\\\u0000-\u001f\u007f-\u009f]`
const LEVEL = `${EDGE}(${INNER}{0,253}${EDGE})?`
const NAMESPACE = new RegExp(String.raw`^${LEVEL}(\.${LEVEL})*$`)
const TABLE_NAME = new RegExp(String.raw`^${LEVEL}(\.${LEVEL})+$`)

/** Text without control characters. */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
export const NO_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/

/** Qualified table name: namespace levels and name joined by dots, such as `sales.orders`. */
export const tableName = z
  .string()
  .min(3)
  .max(1000)
  .regex(TABLE_NAME, 'must be namespace.name: levels joined by dots, none empty or with a space at an end')
  .meta({ description: 'Qualified table name, namespace levels joined by dots', example: 'demo.orders' })

/** Namespace levels joined by dots. */
export const namespaceName = z.string().max(255).regex(NAMESPACE, 'must be a namespace, levels joined by dots')

/** RFC 3339 time in UTC with milliseconds. */
export const timestamp = z.iso.datetime().meta({ example: '2026-11-20T10:00:00.000Z' })

/** A 64-bit snapshot id as decimal text: it exceeds what JSON numbers carry exactly. */
export const snapshotId = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a snapshot id, decimal digits in a string')
  .meta({ example: '6816997371555012807' })

/** An event type, or several by what they begin with. */
export const eventTypeWish = z
  .string()
  .max(100)
  .regex(EVENT_TYPE_WISH, 'must be an event type such as approval.requested, approval.* or *')

export const count = z.int().min(0)
export const bytes = z.int().min(0)

/** The token of a page; an empty one means the first page. */
export const pageToken = z
  .string()
  .max(2000)
  .transform((token) => (token === '' ? undefined : token))
  .optional()

/** Query of a paged list (contract, section 1). */
export const pageQuery = z.strictObject({
  page_size: z.coerce.number().int().min(1).max(1000).optional(),
  page_token: pageToken,
})

export const nextPageToken = z.string().nullable()

/** Every code that an error of the interface can carry. */
export const ERROR_CODES = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'UPGRADE_REQUIRED',
  'CONFLICT',
  'PLAN_STALE',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'HEADERS_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'UNPROCESSABLE',
  'PRECONDITION_FAILED',
  'RATE_LIMITED',
  'ENGINE_BUSY',
  'IDENTITY_UNAVAILABLE',
  'STATE_UNAVAILABLE',
  'INVALID_GRAPH',
  'UNSUPPORTED_FORMAT_VERSION',
  'DEFINITION_LOCKED',
  'INVALID_TRANSITION',
  'APPROVAL_PENDING',
  'APPROVAL_NOT_PENDING',
  'SELF_APPROVAL',
  'CONTENT_CHANGED',
  'ACTION_NOT_PENDING',
  'MODEL_UNAVAILABLE',
  'MODEL_BUSY',
  'MODEL_TIMEOUT',
  'CLUSTER_UNAVAILABLE',
  'CLUSTER_TIMEOUT',
  'CLUSTER_REFUSED',
  'CATALOG_NOT_CONFIGURED',
  'SHUTTING_DOWN',
  'NOTEBOOK_FAILED',
  'NOTEBOOK_NOT_READY',
  'NOTEBOOK_TIMEOUT',
  'INTERNAL',
  'INVALID_ARGUMENT',
  'INVALID_METADATA',
  'CORRUPT_FILE',
  'UNSUPPORTED',
  'FILE_NOT_FOUND',
  'FILE_EXISTS',
  'NO_SPACE',
  'IO_FAILED',
  'NO_SUCH_NAMESPACE',
  'NO_SUCH_TABLE',
  'TABLE_EXISTS',
  'TABLES_OVERLAP',
  'NO_SUCH_COLUMN',
  'NO_SUCH_SNAPSHOT',
  'SCHEMA_CHANGE_REFUSED',
  'GC_DISABLED',
  'COMMIT_CONFLICT',
  'COMMIT_STATE_UNKNOWN',
  'ROWS_NOT_CONSERVED',
  'ENGINE_FAILED',
  'LIMIT_EXCEEDED',
  'CANCELLED',
] as const

/** So many errors are listed in one problem document. */
export const MAX_ERRORS = 20

/** Problem details (RFC 9457) with the service's additions (contract, section 2). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.enum(ERROR_CODES),
    success: z.literal(false),
    request_id: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .max(MAX_ERRORS)
      .optional(),
    more_errors: z
      .int()
      .min(1)
      .optional()
      .meta({ description: `How many errors there are beyond the ${MAX_ERRORS} that are listed` }),
    allowed: z
      .array(z.string())
      .optional()
      .meta({ description: 'What could be done instead, with `INVALID_TRANSITION`' }),
  })
  .meta({ id: 'Problem' })

export type Problem = z.infer<typeof problem>
