import type { PendingActionView } from '../tools/proposed-action.ts'
import type { ActionState, AgentActionView } from '../../schemas/agent.ts'
import type { ActionRecord } from '../../storage/stores/agent/action-store.ts'

/** A pending action as the API shows it. */
export function toPendingAction(action: ActionRecord): PendingActionView {
  const { id, tool, summary, plan, expiresAt } = action
  return { id, tool, arguments: action.arguments, summary, plan, expires_at: expiresAt }
}

/** An action as the API shows it. */
export function toActionView(action: ActionRecord, now: Date): AgentActionView {
  return {
    ...toPendingAction(action),
    state: stateOf(action, now),
    chat_id: action.chatId ?? null,
    created_at: action.createdAt,
    decided_at: action.decidedAt ?? null,
    finished_at: action.finishedAt ?? null,
    result: action.result ?? null,
    error: action.error ?? null,
  }
}

/** The state of an action. A pending action expires with time; nothing is stored for it. */
export function stateOf({ state, expiresAt }: ActionRecord, now: Date): ActionState {
  return state === 'pending' && expiresAt <= now.toISOString() ? 'expired' : state
}
