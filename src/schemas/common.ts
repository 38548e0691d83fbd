import { z } from 'zod'
import { ERROR_CODES } from '../domain/error-codes.ts'
import { EVENT_FILTER } from '../domain/event-type.ts'

// Patterns list control characters as ranges, because clients compile them in languages without `\p{Cc}`.
// White space by its code points: `\s` is not the same in all of them.
const SPACES = String.raw` \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`
const EDGE = String.raw`[^./\\${SPACES}\u0000-\u001f\u007f-\u009f]`
const INNER = String.raw`[^./\\\u0000-\u001f\u007f-\u009f]`
const LEVEL = `${EDGE}(${INNER}{0,253}${EDGE})?`
const LEVEL_WITH_COLON = `(${EDGE}${INNER}{0,252})?:(${INNER}{0,252}${EDGE})?`
/** Without a catalog, a name with a colon begins with another one. */
const LEVEL_WITHOUT_COLON = LEVEL.replaceAll('[^', '[^:')
const NAMESPACE = nameOf('*')
const TABLE_NAME = nameOf('+')

/** A name of two and more levels (`+`), or of one and more (`*`), maybe with the name of a catalog before it. */
function nameOf(more: '+' | '*'): RegExp {
  const own = String.raw`${LEVEL_WITHOUT_COLON}(\.${LEVEL_WITHOUT_COLON})${more}`
  const inCatalog = String.raw`[A-Za-z0-9][A-Za-z0-9_-]{0,62}:${LEVEL}(\.${LEVEL})${more}`
  const begins = String.raw`${LEVEL_WITH_COLON}(\.${LEVEL})${more}`
  const later = String.raw`(${LEVEL}\.)+${LEVEL_WITH_COLON}(\.${LEVEL})*`
  return new RegExp(`^(${own}|${inCatalog}|:(${begins}|${later}))$`)
}

/** Text without control characters. */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
export const NO_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/

/** Qualified table name: `sales.orders`, or `lake:sales.orders` in the catalog `lake`. */
export const tableName = z
  .string()
  .min(3)
  .max(1000)
  .regex(
    TABLE_NAME,
    'must be namespace.name: levels joined by dots, none empty and none starting or ending with a space',
  )
  .meta({
    description:
      'Qualified table name, namespace levels joined by dots; a table of another catalog than the default one begins with the name of its catalog and a colon',
    example: 'demo.orders',
  })

/** Namespace levels joined by dots; one of another catalog than the default one begins with the name of its catalog and a colon. */
export const namespaceName = z.string().max(320).regex(NAMESPACE, 'must be a namespace, levels joined by dots')

/** The name of a configured catalog, of which something is listed. */
export const catalogName = z.string().min(1).max(255).meta({ description: 'Only what is in this catalog' })

/** RFC 3339 time in UTC with milliseconds. */
export const timestamp = z.iso.datetime().meta({ example: '2026-11-20T10:00:00.000Z' })

/** A point in time in a request: RFC 3339 with any offset, read as UTC with milliseconds. */
export const timeInput = z.iso
  .datetime({ offset: true, abort: true })
  // not transform: what a response shows has the same type
  .overwrite((text) => new Date(text).toISOString())
  .meta({ example: '2026-11-20T10:00:00.000Z' })

/** The parameters of a history that is drawn as a chart: a range of time, and how many points of it. */
export const chartRange = {
  from: timeInput.optional().meta({ description: 'Default: the oldest that is stored' }),
  to: timeInput.optional().meta({ description: 'Default: now' }),
  points: z.coerce.number().int().min(50).max(2000).optional().meta({
    description:
      'At most so many points. Where there are more, the first, last, least and greatest of equal spans of time stay',
  }),
}

/** A 64-bit snapshot id as decimal text: it exceeds what JSON numbers carry exactly. */
export const snapshotId = z
  .string()
  .regex(/^\d{1,19}$/, 'must be a snapshot id, decimal digits in a string')
  .meta({ example: '6816997371555012807' })

/** An event type, or a pattern for several. */
export const eventFilter = z
  .string()
  .max(100)
  .regex(EVENT_FILTER, { error: 'must be an event type such as approval.requested, approval.* or *', abort: true })

export const count = z.int().min(0)
export const bytes = z.int().min(0)

/** The token of a page; an empty one means the first page. */
export const pageToken = z
  .string()
  .max(2000)
  .transform((token) => (token === '' ? undefined : token))
  .optional()

/** Query of a paged list (docs/api.md#lists). */
export const pageQuery = z.strictObject({
  page_size: z.coerce.number().int().min(1).max(1000).optional(),
  page_token: pageToken,
})

export const nextPageToken = z.string().nullable()

/** A query parameter that is true or false. */
export const queryFlag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** The name of an owner of files (docs/api.md#managed-objects). */
export const managerName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9 ./_-]*$/, 'must begin with a letter or digit; letters, digits, spaces and . / _ -')

/** Query of a request that creates an object which files may describe. */
export const creationQuery = z.strictObject({
  managed_by: managerName.optional().meta({ description: 'The owner whose files describe it; absent: a person' }),
})

/** Query of a request that changes such an object. */
export const changeQuery = creationQuery.extend({
  adopt: queryFlag.optional().meta({ description: 'Take it over from whoever manages it' }),
})

/** The owner of an object as the API shows it. */
export const managedBy = z
  .string()
  .nullable()
  .meta({ description: 'The owner whose files describe it, and who alone may change it; null: people do' })

/** Maximum number of errors in one problem document. */
export const MAX_ERRORS = 20

/** Problem details (RFC 9457) with the service's additions (docs/api.md#errors). */
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
      .meta({ description: `Number of errors beyond the ${MAX_ERRORS} that are listed` }),
    allowed: z.array(z.string()).optional().meta({ description: 'The valid transitions, with `INVALID_TRANSITION`' }),
  })
  .meta({ id: 'Problem' })

export type Problem = z.infer<typeof problem>
