import type { Policy } from '../../api/types.ts'

/** The dialogs of a policy; each asks before it changes something. */
export const POLICY_DIALOGS = ['mode', 'deletion'] as const

/** Whether a policy can be changed here: another system manages the others. */
export function isEditable({ managed_by: manager }: Policy): boolean {
  return manager === null
}
