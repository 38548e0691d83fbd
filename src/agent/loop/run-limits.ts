/** Limits of one run; times in ms. */
export interface RunLimits {
  /** Requests to the model. */
  readonly steps: number
  readonly toolCalls: number
  /** Concurrent read calls. */
  readonly parallelCalls: number
  /** Rounds of invalid calls that the model may correct. */
  readonly repairs: number
  readonly modelCallMs: number
  /** Time limit of one query over table rows. */
  readonly queryMs: number
  readonly totalMs: number
  /** Total of all steps. */
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

/** Why a run ended. {@link STOP_TEXTS} is the answer when the model returned no text. */
export type StopReason =
  | 'answered'
  | 'no_answer' // the model returned no text
  | 'cut_short' // the answer reached the token limit
  | 'step_limit'
  | 'tool_call_limit'
  | 'token_limit'
  | 'time_limit'
  | 'daily_limit'
  | 'invalid_tool_calls' // the model kept making invalid tool calls

/** The answer when the model returns no text. */
export const STOP_TEXTS: Readonly<Record<StopReason, string>> = {
  answered: '',
  no_answer: 'The model gave no answer.',
  cut_short: 'The answer reached its length limit.',
  step_limit: 'I stopped: this question reached the limit of steps. The tool calls show the results so far.',
  tool_call_limit: 'I stopped: this question reached the limit of tool calls. The tool calls show the results so far.',
  token_limit: 'I stopped: this question reached the limit of tokens. The tool calls show the results so far.',
  time_limit: 'I stopped: this question reached the time limit. The tool calls show the results so far.',
  daily_limit: 'I stopped: your token budget for today is used up. The tool calls show the results so far.',
  invalid_tool_calls: 'I stopped: the model kept making invalid tool calls.',
}
