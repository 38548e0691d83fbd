import { checkedPolicyRequest, policySettings, type PolicyView, policyWithDefaults } from '../../../schemas/policies.ts'
import { listAll } from '../../api/pages.ts'
import type { Existing, Kind } from './kind.ts'
import { checkDocument, pick, plainJson, revisionTag, sendChange } from './requests.ts'

const FIELDS = Object.keys(policySettings.shape)

/** Maintenance policies (docs/api.md#policies). */
export const policyKind: Kind = {
  kind: 'Policy',
  check: (document) =>
    checkDocument(checkedPolicyRequest, document, (request) => ({
      name: request.name,
      settings: plainJson(policyWithDefaults(request)),
    })),
  async list(call) {
    const { rows } = await listAll(call, 'listPolicies', {})
    return (rows as readonly PolicyView[]).map(existing)
  },
  async create(call, { settings }, owner) {
    await sendChange(call, 'createPolicy', { body: settings, owner })
    return undefined
  },
  async update(call, { id, from, to, owner, adopts }) {
    const body = to.settings
    await sendChange(call, 'updatePolicy', { ids: { policy_id: id }, body, owner, adopts, tag: from.tag })
    return undefined
  },
  removal: 'delete',
  async remove(call, { id, from, owner }) {
    await sendChange(call, 'deletePolicy', { ids: { policy_id: id }, owner, tag: from.tag })
    return undefined
  },
}

function existing(policy: PolicyView): Existing {
  const state = { settings: pick(plainJson(policy), FIELDS), tag: revisionTag(policy.revision) }
  const { id, name, managed_by: managedBy } = policy
  return { id, name, managedBy, isUntouched: false, read: async () => state }
}
