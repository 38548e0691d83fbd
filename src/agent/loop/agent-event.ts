import type { PendingActionView } from '../tools/proposed-action.ts'

/** An event of a run, for streaming clients; `step` counts the requests to the model from 1. */
export type AgentEvent =
  | { readonly type: 'delta'; readonly step: number; readonly text: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly tool: string; readonly arguments_json: string }
  | {
      readonly type: 'tool_result'
      readonly id: string
      readonly tool: string
      readonly ok: boolean
      readonly result_json: string
    }
  | { readonly type: 'needs_confirmation'; readonly action: PendingActionView }
