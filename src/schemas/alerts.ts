import { z } from 'zod'
import { matchesAnyType, unknownTypeMessage } from '../domain/event-type.ts'
import { count, managedBy, nextPageToken, NO_CONTROL_CHARACTERS, pageQuery, timeInput, timestamp } from './common.ts'

const MAX_GLOBS = 200
const ENV_NAME = String.raw`env:[A-Za-z_][A-Za-z0-9_]{0,199}`

const glob = z.string().min(1).max(1000).regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')

const eventGlob = z
  .string()
  .max(100)
  .regex(/^[a-z_*]+(\.[a-z_*]+)?$/, {
    error: 'must be an event type such as pipeline.failed, pipeline.*, *.failed or *',
    abort: true,
  })
  .refine(matchesAnyType, {
    error: ({ input }) => unknownTypeMessage(String(input)),
    params: { code: 'UNPROCESSABLE' },
  })

const duration = z
  .string()
  .max(40)
  .regex(/^[1-9]\d{0,3} (second|minute|hour|day)s?$/, 'must be a number and a unit, such as 10 minutes')

const SECRET = 'Only shown as `***`, which keeps the stored one; or `env:NAME`'

/** An address that may be a secret, because whoever knows it can send there. */
const secretUrl = z
  .string()
  .min(1)
  .max(2000)
  .meta({ description: SECRET, example: 'https://hooks.example.com/lockhouse' })

const webhookChannel = z.strictObject({
  type: z.literal('webhook'),
  url: secretUrl,
  secret: z
    .string()
    .max(2000)
    .regex(
      new RegExp(
        String.raw`^(\*\*\*|${ENV_NAME}|whsec_([A-Za-z0-9+/]{4}){6,200}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$`,
      ),
      'must be whsec_ and at least 18 bytes in base64, or env:NAME',
    )
    .optional()
    .meta({ description: `Signs the messages; default: a new one, or the stored one. ${SECRET}` }),
})

const pagerdutyChannel = z.strictObject({
  type: z.literal('pagerduty'),
  routing_key: z
    .string()
    .regex(new RegExp(String.raw`^(\*\*\*|${ENV_NAME}|[A-Za-z0-9]{32})$`), 'must have 32 letters and digits')
    .meta({ description: `Integration key of a service. ${SECRET}` }),
  url: z.string().min(1).max(2000).meta({
    description: 'Address of the Events API v2 in your service region, such as https://events.pagerduty.com/v2/enqueue',
  }),
})

/** Where an alert is sent. */
export const alertChannel = z.discriminatedUnion('type', [
  webhookChannel,
  z.strictObject({ type: z.literal('slack'), url: secretUrl }),
  z.strictObject({ type: z.literal('teams'), url: secretUrl }),
  pagerdutyChannel,
  z.strictObject({ type: z.literal('email'), to: z.array(z.email().max(254)).min(1).max(20) }),
])

export type AlertChannel = z.output<typeof alertChannel>

/** The members of a channel that are shown as `***`. */
export const CHANNEL_SECRETS: Readonly<Record<AlertChannel['type'], readonly string[]>> = {
  webhook: ['url', 'secret'],
  slack: ['url'],
  teams: ['url'],
  pagerduty: ['routing_key'],
  email: [],
}

const alertFields = {
  name: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]*$/, 'must begin with a letter or digit; letters, digits, spaces and . _ -'),
  events: z.array(eventGlob).min(1).max(50),
  tables: z
    .array(glob)
    .min(1)
    .max(MAX_GLOBS)
    .optional()
    .meta({ description: 'Only events about these tables, or about `pipelines`' }),
  pipelines: z
    .array(glob)
    .min(1)
    .max(MAX_GLOBS)
    .optional()
    .meta({ description: 'Only events about these pipelines, by id, definition id or definition name, or `tables`' }),
  for: duration
    .optional()
    .meta({ description: 'How long a condition must last, such as `table.stale` to `table.fresh`' }),
  cooldown: duration
    .optional()
    .meta({ description: 'At most one notification about an object in this time; absent: one for each event' }),
  channel: alertChannel,
}

export const alertRequest = z.strictObject(alertFields)

export type AlertRequest = z.output<typeof alertRequest>

export const alertParams = z.strictObject({ alert_id: z.string().max(100) })

export const alertView = z
  .object({
    ...alertFields,
    id: z.string(),
    destination: z.string().meta({ description: 'Where it is sent, without what is secret' }),
    silenced_until: timestamp.nullable(),
    active_conditions: count.meta({ description: 'Conditions that last, or wait for `for` or `cooldown`' }),
    managed_by: managedBy,
    revision: z.int(),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Alert' })

export type AlertView = z.output<typeof alertView>

/** An alert after a change. */
export const changedAlert = alertView
  .extend({
    signing_secret: z
      .string()
      .nullable()
      .meta({ description: 'The new secret of a webhook channel that was given none; shown once' }),
  })
  .meta({ id: 'ChangedAlert' })

export const alertList = z
  .object({ success: z.literal(true), alerts: z.array(alertView), next_page_token: nextPageToken })
  .meta({ id: 'AlertList' })

export const silenceRequest = z.strictObject({
  until: timeInput.nullable().optional().meta({ description: 'Absent or null: ends the silence' }),
})

export const alertDeliveryQuery = pageQuery

export const alertDelivery = z
  .object({
    id: z.string(),
    alert_id: z.string(),
    kind: z.enum(['trigger', 'resolve', 'test']),
    event_seq: z.int().min(1).nullable(),
    event_type: z.string().nullable(),
    object: z.string().nullable(),
    held_back: count.meta({ description: 'Events that the cooldown held back before this one' }),
    state: z.enum(['pending', 'delivered', 'failed', 'silenced']),
    attempts: count,
    next_attempt_at: timestamp.nullable(),
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'AlertDelivery' })

export type AlertDeliveryView = z.output<typeof alertDelivery>

export const alertDeliveryList = z.array(alertDelivery).meta({ id: 'AlertDeliveryList' })
