import { alertRequest, type AlertView, type changedAlert, CHANNEL_SECRETS } from '../../../schemas/alerts.ts'
import type { Wire } from '../../../schemas/wire.ts'
import { listAll } from '../../api/pages.ts'
import type { ApiAnswer } from '../../api-client.ts'
import type { Existing, Kind, Notice, Settings } from './kind.ts'
import { checkDocument, pick, plainJson, revisionTag, sendChange } from './requests.ts'

const FIELDS = Object.keys(alertRequest.shape)

/** Secrets of channels are references, because the service shows no secret that a file could be compared with. */
const fileRequest = alertRequest.superRefine(({ channel }, context) => {
  for (const [member, value] of Object.entries(channel)) {
    if (!CHANNEL_SECRETS[channel.type].includes(member) || String(value).startsWith('env:')) continue
    const message = 'must be env:NAME, the name of a variable of the service: files have no secrets'
    context.addIssue({ code: 'custom', path: ['channel', member], message })
  }
})

/** Alert rules (docs/api.md#alerts). */
export const alertKind: Kind = {
  kind: 'Alert',
  check: (document) =>
    checkDocument(fileRequest, document, (request) => ({ name: request.name, settings: plainJson(request) })),
  async list(call) {
    const { rows } = await listAll(call, 'listAlerts', {})
    return (rows as readonly AlertView[]).map(existing)
  },
  shared: withoutOwnSecret,
  create: async (call, { settings }, owner) =>
    signingSecret(await sendChange(call, 'createAlert', { body: settings, owner })),
  async update(call, { id, from, to, owner, adopts }) {
    const spec = { ids: { alert_id: id }, body: to.settings, owner, adopts, tag: from.tag }
    return signingSecret(await sendChange(call, 'updateAlert', spec))
  },
  removal: 'delete',
  async remove(call, { id, from, owner }) {
    await sendChange(call, 'deleteAlert', { ids: { alert_id: id }, owner, tag: from.tag })
    return undefined
  },
}

function existing(alert: AlertView): Existing {
  const state = { settings: pick(plainJson(alert), FIELDS), tag: revisionTag(alert.revision) }
  const { id, name, managed_by: managedBy } = alert
  return { id, name, managedBy, isUntouched: false, read: async () => state }
}

/** Without a secret in the file, the service makes one for a webhook and keeps it. */
function withoutOwnSecret(stored: Settings, described: Settings): Settings {
  const { secret, ...channel } = stored['channel'] as Settings
  const isKept = secret === undefined || Object.hasOwn(described['channel'] as Settings, 'secret')
  return isKept ? stored : { ...stored, channel }
}

function signingSecret({ body }: ApiAnswer): Notice {
  const { signing_secret: secret } = body as Wire<typeof changedAlert>
  return secret === null ? undefined : `signing secret, shown once: ${secret}`
}
