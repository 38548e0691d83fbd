import type { Policy } from '../../api/types.ts'
import { managedNotice } from '../../strings/everywhere/managed.ts'

/** The dialogs of a policy; each asks before it changes something. */
export const POLICY_DIALOGS = ['mode', 'deletion'] as const

/** Whether a policy can be changed here: the files of an owner describe the others. */
export function isEditable(policy: Policy): boolean {
  return managedNotice(policy) === undefined
}
