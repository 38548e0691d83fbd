/** What one run may take; times in ms. */
export interface RunLimits {
  /** Questions to the model. */
  readonly steps: number
  readonly toolCalls: number
  /** Read calls under way at once. */
  readonly parallelCalls: number
  /** Rounds of wrong calls that it may make good. */
  readonly repairs: number
  readonly modelCallMs: number
  /** Of one query over the rows of a table. */
  readonly queryMs: number
  readonly totalMs: number
  /** Of all steps together. */
  readonly outputTokens: number
  readonly outputTokensPerStep: number
}

export const DEFAULT_RUN_LIMITS: RunLimits = {
  steps: 8,
  toolCalls: 16,
  parallelCalls: 4,
  repairs: 2,
  modelCallMs: 60_000,
  queryMs: 20_000,
  totalMs: 120_000,
  outputTokens: 20_000,
  outputTokensPerStep: 8192,
}

/** Why a run ended; all but the first are told in the answer's text when the model had none. */
export type StopReason =
  | 'answered'
  | 'no_answer' // the model said nothing
  | 'cut_short' // its answer ends where its limit was
  | 'step_limit'
  | 'tool_call_limit'
  | 'token_limit'
  | 'time_limit'
  | 'daily_limit'
  | 'invalid_tool_calls' // it could not make a call that a tool understands

/** What is answered when the model leaves no text. */
export const STOP_TEXTS: Readonly<Record<StopReason, string>> = {
  answered: '',
  no_answer: 'The model gave no answer.',
  cut_short: 'The answer was cut short at its limit.',
  step_limit: 'I stopped: the limit of steps for one question is reached. What was found so far is in the tool calls.',
  tool_call_limit:
    'I stopped: the limit of tool calls for one question is reached. What was found so far is in the tool calls.',
  token_limit:
    'I stopped: the limit of tokens for one question is reached. What was found so far is in the tool calls.',
  time_limit: 'I stopped: the time for one question is over. What was found so far is in the tool calls.',
  daily_limit: 'I stopped: your budget of tokens for today is used up. What was found so far is in the tool calls.',
  invalid_tool_calls: 'I stopped: the model could not call the tools in a way that they understand.',
}
