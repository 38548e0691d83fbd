import { DEFAULT_APPROVAL_RULE } from '../../../domain/approvals.ts'
import { jsonChanges } from '../../../domain/json/json-changes.ts'
import { type EnvironmentView, runEnvironment, setEnvironmentRequest } from '../../../schemas/environments.ts'
import { check } from '../../../schemas/issues.ts'
import { listAll } from '../../api/pages.ts'
import type { Existing, Kind, Settings } from './kind.ts'
import { checkDocument, pick, plainJson, revisionTag, sendChange } from './requests.ts'

/** Environments (docs/api.md#environments). Members that a file leaves out stay as they are. */
export const environmentKind: Kind = {
  kind: 'Environment',
  check(document) {
    const { name, ...settings } = document
    const named = check(runEnvironment, name)
    if (!named.success) {
      const errors = named.error.issues.map(({ message }) => ({ path: 'name', message }))
      return { success: false, errors }
    }
    return checkDocument(setEnvironmentRequest, settings, (request) => ({
      name: named.data,
      settings: withRule(plainJson(request)),
    }))
  },
  async list(call) {
    const { rows } = await listAll(call, 'listEnvironments', {})
    return (rows as readonly EnvironmentView[]).map(existing)
  },
  shared(stored, described) {
    const shared = pick(stored, Object.keys(described))
    const names = Object.keys(described['defaults'] ?? {})
    return Object.hasOwn(shared, 'defaults')
      ? { ...shared, defaults: pick(stored['defaults'] as Settings, names) }
      : shared
  },
  create: async () => undefined, // the service has each environment
  async update(call, { id, from, to, owner, adopts }) {
    const spec = { ids: { environment: id }, body: to.settings, owner, adopts, tag: from.tag }
    await sendChange(call, 'setEnvironment', spec)
    return undefined
  },
  removal: 'release',
  async remove(call, { id, from }) {
    const body = pick(from.settings, ['writes'])
    await sendChange(call, 'setEnvironment', { ids: { environment: id }, body, adopts: true, tag: from.tag })
    return undefined
  },
}

function existing(view: EnvironmentView): Existing {
  const { environment, managed_by: managedBy, revision } = view
  const state = { settings: withRule(plainJson(view)), tag: revisionTag(revision) }
  return { id: environment, name: environment, managedBy, isUntouched: revision === 0, read: async () => state }
}

/** The default rule is shown in environments that need approvals; null stands for it. */
function withRule(settings: Settings): Settings {
  const isDefault = jsonChanges(settings['approvals'], DEFAULT_APPROVAL_RULE).length === 0
  return isDefault ? { ...settings, approvals: null } : settings
}
