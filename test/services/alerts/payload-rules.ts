import { z } from 'zod'

// What the receivers publish about the messages that they take, written down by hand.

const plainText = z.strictObject({
  type: z.literal('plain_text'),
  text: z.string().min(1).max(150),
  emoji: z.boolean(),
})
const markdown = (max: number) =>
  z.strictObject({
    type: z.literal('mrkdwn'),
    // `<` begins a link or a mention, and must come escaped
    text: z
      .string()
      .min(1)
      .max(max)
      .regex(/^[^<>]*$/),
  })

/** Block Kit: https://api.slack.com/reference/block-kit/blocks. */
export const slackRules = z.strictObject({
  text: z.string().min(1).max(40_000),
  blocks: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('header'), text: plainText }),
        z.strictObject({ type: z.literal('section'), fields: z.array(markdown(2000)).min(1).max(10) }),
        z.strictObject({ type: z.literal('context'), elements: z.array(markdown(2000)).min(1).max(10) }),
      ]),
    )
    .min(1)
    .max(50),
})

const textBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string().min(1),
  size: z.enum(['Default', 'Small', 'Medium', 'Large', 'ExtraLarge']).optional(),
  weight: z.enum(['Default', 'Lighter', 'Bolder']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
  isSubtle: z.boolean().optional(),
  wrap: z.boolean().optional(),
})
const factSet = z.strictObject({
  type: z.literal('FactSet'),
  facts: z.array(z.strictObject({ title: z.string().min(1), value: z.string().min(1) })).min(1),
})

/** An Adaptive Card (http://adaptivecards.io/schemas/adaptive-card.json) in a message for a Teams workflow. */
export const teamsRules = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
        type: z.literal('AdaptiveCard'),
        version: z.enum(['1.0', '1.1', '1.2', '1.3', '1.4']),
        body: z.array(z.discriminatedUnion('type', [textBlock, factSet])).min(1),
        msteams: z.strictObject({ width: z.literal('Full') }),
      }),
    }),
  ]),
})
/** Teams refuses larger messages. */
export const TEAMS_MAX_BYTES = 28 * 1024

const routingKey = z.string().regex(/^[A-Za-z0-9]{32}$/)
const dedupKey = z.string().min(1).max(255)

/** PagerDuty's Events API v2 (PD-CEF): https://developer.pagerduty.com/docs/send-alert-event. */
export const pagerdutyRules = z.discriminatedUnion('event_action', [
  z.strictObject({
    event_action: z.literal('trigger'),
    routing_key: routingKey,
    dedup_key: dedupKey,
    client: z.string(),
    payload: z.strictObject({
      summary: z.string().min(1).max(1024),
      source: z.string().min(1),
      severity: z.enum(['critical', 'error', 'warning', 'info']),
      timestamp: z.iso.datetime(),
      component: z.string(),
      group: z.string(),
      class: z.string(),
      custom_details: z.record(z.string(), z.string()),
    }),
  }),
  z.strictObject({ event_action: z.enum(['resolve', 'acknowledge']), routing_key: routingKey, dedup_key: dedupKey }),
])

/** Our own message, as docs/api.md describes it: the members of the event, and what the alert adds. */
export const webhookRules = z.strictObject({
  seq: z.int().nullable(),
  at: z.iso.datetime(),
  type: z.string(),
  object_type: z.string(),
  object_id: z.string(),
  data: z.record(z.string(), z.unknown()),
  id: z.string().startsWith('dlv-'),
  kind: z.enum(['trigger', 'resolve', 'test']),
  alert: z.strictObject({ id: z.string().startsWith('alr-'), name: z.string() }),
  dedup_key: z.string().min(1),
  severity: z.enum(['critical', 'error', 'warning', 'info']),
  title: z.string().min(1),
  held_back: z.int().min(0),
})
