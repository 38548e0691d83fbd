import type { Policy } from '../../api/types.ts'
import type { OfferedChange } from '../../components/selection/offered-change.ts'
import { managedNotice } from '../../strings/everywhere/managed.ts'
import { policies as words } from '../../strings/policies.ts'
import { deletePolicy, requestOf, resumePolicy, updatePolicy } from './api.ts'

const { activate, pause, resume, remove } = words.many

/** What a lead can do to many policies at once. */
export const POLICY_CHANGES: readonly OfferedChange<Policy>[] = [
  {
    words: activate,
    leftOut: (policy) => managedNotice(policy) ?? (policy.mode === 'active' ? activate.already : undefined),
    apply: (policy) => updatePolicy(policy, { ...requestOf(policy), mode: 'active' }),
  },
  {
    words: pause,
    leftOut: (policy) => managedNotice(policy) ?? (policy.mode === 'shadow' ? pause.already : undefined),
    apply: (policy) => updatePolicy(policy, { ...requestOf(policy), mode: 'shadow' }),
  },
  {
    words: resume,
    leftOut: ({ suspended_tables: count }) => (count === 0 ? resume.already : undefined),
    apply: ({ id }) => resumePolicy(id, undefined),
  },
  { words: remove, leftOut: managedNotice, apply: deletePolicy, isDestructive: true },
]
