import { type Kysely, sql } from 'kysely'

import type { StateTables } from '../../schema.ts'
import type { Migration } from '../migration.ts'

interface Webhook {
  readonly id: string
  readonly url: string
  readonly types_json: string
  readonly secret: string
}

const MAX_HOST = 80

/** Webhooks become alerts with a signed channel, `wh-…` becomes `alr-…`, and deliveries keep their ids, states and times. */
export const signedAlerts: Migration = {
  name: 'signed-alerts',
  async up(db) {
    const alerts = await sql<{ name: string }>`select name from alerts`.execute(db)
    const taken = new Set(alerts.rows.map(({ name }) => name))
    const webhooks = await sql<Webhook>`
      select id, url, types_json, secret from webhooks order by created_at, id
    `.execute(db)
    for (const webhook of webhooks.rows) await insertAlert(db, webhook, freeName(webhook.url, taken))
    // Events up to `since_seq` have their deliveries: an alert applies those after it, so that none is sent twice.
    await sql`
      insert into alert_deliveries (id, alert_id, kind, condition_key, event_seq, held_back, state, attempts,
        next_attempt_at, last_status, last_error, created_at, finished_at)
      select id, 'alr-' || substr(webhook_id, 4), 'trigger', null, event_seq, 0, state, attempts,
        next_attempt_at, last_status, last_error, created_at, finished_at
      from webhook_deliveries
    `.execute(db)
    await db.schema.dropTable('webhook_deliveries').execute()
    await db.schema.dropTable('webhooks').execute()
  },
}

async function insertAlert(db: Kysely<StateTables>, webhook: Webhook, name: string): Promise<void> {
  const { id, url, types_json: types, secret } = webhook
  const settings = JSON.stringify({ name, events: JSON.parse(types), channel: { type: 'webhook', url, secret } })
  await sql`
    insert into alerts (id, name, settings_json, since_seq, revision, created_by, created_at, updated_at)
    select 'alr-' || substr(id, 4), ${name}, ${settings}, since_seq, 1, created_by, created_at, created_at
    from webhooks where id = ${id}
  `.execute(db)
}

/** A name that no alert has, such as `Webhook hooks.example.com` or `Webhook hooks.example.com 2`. */
function freeName(url: string, taken: Set<string>): string {
  const host = new URL(url).hostname.replaceAll(/[^A-Za-z0-9._-]/g, '').slice(0, MAX_HOST)
  const base = `Webhook ${host}`
  let name = base
  for (let number = 2; taken.has(name); number += 1) name = `${base} ${number}`
  taken.add(name)
  return name
}
