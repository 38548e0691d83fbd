import type { PolicyService } from './policy-service.ts'

/** Creates a policy over the demo tables that decides and runs nothing. */
export async function makeDemoPolicy(policies: PolicyService, requestId: string): Promise<void> {
  await policies.create(
    {
      name: 'demo tables',
      tables: ['demo.*'],
      operations: [{ operation: 'compact' }, { operation: 'rewrite_manifests' }, { operation: 'expire' }],
      when: { health_below: 80 },
      mode: 'shadow',
    },
    { caller: { user: 'lockhouse', role: 'LeadDataEngineer', via: 'system' }, requestId },
  )
}
