import type { ChatAnswer, ChatTurn, PendingAction } from '../../api/types.ts'

/** The current state of a tool call. */
export interface ShownCall {
  readonly id: string
  readonly tool: string
  readonly argumentsJson: string
  /** Undefined while it runs. */
  readonly resultJson: string | undefined
  readonly ok: boolean | undefined
}

/** A question and its answer while it is being given. */
export interface LiveTurn {
  readonly prompt: string
  readonly state: 'running' | 'answered' | 'stopped' | 'failed'
  /** Text of the last step. */
  readonly text: string
  /** Number of the current step, from 1; 0 before the first. */
  readonly step: number
  readonly calls: readonly ShownCall[]
  readonly actions: readonly PendingAction[]
  /** The complete answer, when it has arrived. */
  readonly answer: ChatAnswer | undefined
  /** Why there is no answer. */
  readonly problem: string | undefined
}

/** The events of an answer stream, by name. */
export type AgentStreamEvent =
  | { readonly type: 'delta'; readonly step: number; readonly text: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly tool: string; readonly arguments_json: string }
  | { readonly type: 'tool_result'; readonly id: string; readonly ok: boolean; readonly result_json: string }
  | { readonly type: 'needs_confirmation'; readonly action: PendingAction }
  | { readonly type: 'done'; readonly answer: ChatAnswer }
  | { readonly type: 'error'; readonly message: string }

/** A new question. */
export function askedTurn(prompt: string): LiveTurn {
  return {
    prompt,
    state: 'running',
    text: '',
    step: 0,
    calls: [],
    actions: [],
    answer: undefined,
    problem: undefined,
  }
}

/** The turn after an event of its stream; a finished turn does not change. */
export function followTurn(turn: LiveTurn, event: AgentStreamEvent): LiveTurn {
  if (turn.state !== 'running') return turn
  switch (event.type) {
    case 'delta':
      return event.step === turn.step
        ? { ...turn, text: turn.text + event.text }
        : { ...turn, step: event.step, text: event.text }
    case 'tool_start': {
      const { id, tool, arguments_json: argumentsJson } = event
      return { ...turn, calls: [...turn.calls, { id, tool, argumentsJson, resultJson: undefined, ok: undefined }] }
    }
    case 'tool_result':
      return { ...turn, calls: turn.calls.map((call) => (call.id === event.id ? withResult(call, event) : call)) }
    case 'needs_confirmation':
      return { ...turn, actions: [...turn.actions, event.action] }
    case 'done':
      return { ...turn, state: 'answered', text: event.answer.response, answer: event.answer }
    default:
      return { ...turn, state: 'failed', problem: event.message }
  }
}

function withResult(call: ShownCall, { ok, result_json: resultJson }: { ok: boolean; result_json: string }): ShownCall {
  return call.resultJson === undefined ? { ...call, ok, resultJson } : call
}

/** The turn after the user stopped it. */
export function stopTurn(turn: LiveTurn): LiveTurn {
  return turn.state === 'running' ? { ...turn, state: 'stopped' } : turn
}

/** The calls of a turn that is stored; whether they worked is in their results. */
export function storedCalls(turn: Pick<ChatTurn, 'tool_calls'>): ShownCall[] {
  return turn.tool_calls.map(({ tool, arguments_json: argumentsJson, result_json: resultJson }, index) => ({
    id: String(index),
    tool,
    argumentsJson,
    resultJson,
    ok: undefined,
  }))
}

/** Parses an event of the stream; undefined for unknown events. */
export function readStreamEvent(name: string, data: string): AgentStreamEvent | undefined {
  const body = JSON.parse(data) as Record<string, unknown>
  switch (name) {
    case 'delta':
    case 'tool_start':
    case 'tool_result':
    case 'needs_confirmation':
      return { ...body, type: name } as AgentStreamEvent // the server's `AgentEvent`
    case 'done':
      return { type: 'done', answer: body as unknown as ChatAnswer }
    case 'error':
      return { type: 'error', message: typeof body['detail'] === 'string' ? body['detail'] : '' }
    default:
      return undefined
  }
}
