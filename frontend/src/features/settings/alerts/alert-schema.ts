import type { Alert, AlertChannel, AlertRequest } from '../../../api/types.ts'
import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { alertRequest } from '../../../components/form/schemas.ts'

/** The values of the form for an alert; lists are separated by line breaks. */
export interface AlertForm {
  readonly name: string
  readonly events: string
  readonly tables: string
  readonly pipelines: string
  readonly for: string
  readonly cooldown: string
  readonly channel: {
    readonly type: AlertChannel['type']
    readonly url: string
    readonly routing_key: string
    readonly to: string
  }
}

const NEW: AlertForm = {
  name: '',
  events: 'pipeline.failed\npipeline.degraded\ntable.unhealthy',
  tables: '',
  pipelines: '',
  for: '',
  cooldown: '1 hour',
  channel: { type: 'slack', url: '', routing_key: '', to: '' },
}

/** The form of an alert, or of a new one. */
export function formOf(alert: Alert | undefined): AlertForm {
  if (alert === undefined) return NEW
  const { name, events, tables = [], pipelines = [], cooldown = '', channel } = alert
  return {
    name,
    events: events.join('\n'),
    tables: tables.join('\n'),
    pipelines: pipelines.join('\n'),
    for: alert.for ?? '',
    cooldown,
    channel: channelForm(channel),
  }
}

function channelForm(channel: AlertChannel): AlertForm['channel'] {
  const { type } = channel
  if (type === 'email') return { ...NEW.channel, type, to: channel.to.join('\n') }
  const { url } = channel
  return { ...NEW.channel, type, url, ...(type === 'pagerduty' ? { routing_key: channel.routing_key } : {}) }
}

/** Checks the form of an alert and makes its request. */
export const alertSchema: FormSchema<AlertForm, AlertRequest> = formSchema(alertRequest, (form: AlertForm) => ({
  name: form.name.trim(),
  events: linesIn(form.events),
  ...(linesIn(form.tables).length === 0 ? {} : { tables: linesIn(form.tables) }),
  ...(linesIn(form.pipelines).length === 0 ? {} : { pipelines: linesIn(form.pipelines) }),
  ...(form.for.trim() === '' ? {} : { for: form.for.trim() }),
  ...(form.cooldown.trim() === '' ? {} : { cooldown: form.cooldown.trim() }),
  channel: channelOf(form.channel),
}))

function channelOf({ type, url, routing_key, to }: AlertForm['channel']): object {
  if (type === 'email') return { type, to: linesIn(to) }
  if (type !== 'pagerduty') return { type, url: url.trim() }
  return { type, routing_key: routing_key.trim(), url: url.trim() }
}

function linesIn(text: string): readonly string[] {
  return text.split(/[\n,]+/).flatMap((line) => (line.trim() === '' ? [] : [line.trim()]))
}
