import type { RequestContext } from '../../domain/audit.ts'
import { managerChange } from '../../domain/change-request.ts'
import { DomainError } from '../../domain/errors.ts'
import { type PolicyRequest, policyWithDefaults } from '../../schemas/policies.ts'
import { createPolicyStore, type PolicyRecord } from '../../storage/stores/policies/policy-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { PolicyDeps } from './policy-deps.ts'

/** What changes of policies are recorded with. */
export type PolicyChangeDeps = Pick<PolicyDeps, 'audit' | 'events' | 'newId' | 'now'>

interface NewPolicy {
  /** Checked. */
  readonly request: PolicyRequest
  readonly managedBy?: string | undefined
  readonly context: RequestContext
}

/** Creates a policy in the transaction of its cause. Throws `CONFLICT` for a name that is taken. */
export async function insertPolicy(
  deps: PolicyChangeDeps,
  tx: Tx,
  { request, managedBy, context }: NewPolicy,
): Promise<PolicyRecord> {
  const at = deps.now().toISOString()
  const policy: PolicyRecord = {
    id: deps.newId('pol'),
    settings: policyWithDefaults(request),
    managedBy,
    revision: 1,
    createdBy: context.caller.user,
    createdAt: at,
    updatedAt: at,
  }
  await requireFreeName(tx, policy)
  await createPolicyStore(tx).insert(policy)
  const details = { after: settingsJson(policy), ...managerChange(undefined, managedBy) }
  await recordPolicyChange(deps, tx, { policy, context, action: 'create', details })
  return policy
}

/** Throws `CONFLICT` when another policy has the name. */
export async function requireFreeName(tx: Tx, { id, settings: { name } }: PolicyRecord): Promise<void> {
  const other = await createPolicyStore(tx).findByName(name)
  if (other === undefined || other.id === id) return
  const message = `there is a policy named ${name}`
  throw new DomainError('CONFLICT', message, { fields: [{ path: 'name', message }] })
}

/** The settings of a policy as the audit log has them. */
export function settingsJson({ settings }: PolicyRecord) {
  return JSON.parse(JSON.stringify(settings))
}

interface PolicyEntry {
  readonly policy: PolicyRecord
  readonly context: RequestContext
  readonly action: keyof typeof EVENT_OF
  readonly details: object
}

const EVENT_OF = {
  create: 'policy.created',
  update: 'policy.updated',
  delete: 'policy.deleted',
  resume: 'policy.resumed',
} as const

/** Records a change of a policy in the audit log and the event log. */
export async function recordPolicyChange(
  { audit, events }: Pick<PolicyDeps, 'audit' | 'events'>,
  tx: Tx,
  { policy, context, action, details }: PolicyEntry,
): Promise<void> {
  const object = { objectType: 'policy', objectId: policy.id } as const
  await audit.record(tx, {
    ...context,
    ...object,
    action: `policy.${action}`,
    details: JSON.parse(JSON.stringify(details)),
  })
  const data = { policy: policy.settings.name, mode: policy.settings.mode, revision: policy.revision }
  await events.append(tx, { type: EVENT_OF[action], ...object, data })
}
