import type { z } from 'zod'
import type { APPROVAL_STATUSES } from '../domain/approvals.ts'
import type { Role } from '../domain/roles.ts'
import type { HealthBand } from '../domain/tables/health-band.ts'
import type { HEALTH_SORTS } from '../schemas/tables/health-index.ts'
import type { compactRequest, ENGINES } from '../schemas/tables/maintenance.ts'
import type { operationList } from '../schemas/tables/operations.ts'

type State = z.infer<typeof operationList>['operations'][number]['state']
type CompactChoice<Field extends 'strategy' | 'verify' | 'on_conflict'> = NonNullable<
  z.infer<typeof compactRequest>[Field]
>

/**
 * The values of options that accept only some. Repeated here, because loading the schemas would take longer than most
 * commands; the compiler refuses a value that the service does not have, and a test one that is missing.
 */
export const CHOICES = {
  engine: ['auto', 'embedded', 'spark'] satisfies readonly (typeof ENGINES)[number][],
  strategy: ['binpack', 'sort'] satisfies readonly CompactChoice<'strategy'>[],
  verify: ['values', 'counts'] satisfies readonly CompactChoice<'verify'>[],
  on_conflict: ['carry_over', 'fail'] satisfies readonly CompactChoice<'on_conflict'>[],
  band: ['good', 'fair', 'poor', 'unknown'] satisfies readonly HealthBand[],
  sort: [
    'score',
    'small_files',
    'delete_ratio',
    'bytes',
    'last_commit',
    'name',
  ] satisfies readonly (typeof HEALTH_SORTS)[number][],
  state: ['running', 'succeeded', 'failed', 'cancelled', 'unknown'] satisfies readonly State[],
  status: ['pending', 'approved', 'rejected'] satisfies readonly (typeof APPROVAL_STATUSES)[number][],
  role: ['Auditor', 'DataEngineer', 'LeadDataEngineer'] satisfies readonly Role[],
} as const
