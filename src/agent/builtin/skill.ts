import type { JsonView } from './json-view.ts'
import type { Question } from './question.ts'

/** A tool call and its result, prepared for skills. */
export interface SeenCall {
  readonly tool: string
  readonly args: JsonView
  readonly data: JsonView
  /** Undefined: it succeeded. */
  readonly error: JsonView | undefined
  /** Whether the result was cut. */
  readonly truncated: boolean
}

/** The next step of a skill: tool calls, or the answer (`say`). */
export type Next =
  | { readonly calls: readonly { readonly tool: string; readonly args: object }[] }
  | { readonly say: string }

/** Returned by a skill that turns out not to apply to the question. */
export const NOT_APPLICABLE = { say: undefined } as const

/** One kind of question that the rules understand. */
export interface Skill {
  matches(question: Question): boolean
  /** Called again with the results of its calls, until it returns an answer. */
  next(question: Question, seen: readonly SeenCall[]): Next | typeof NOT_APPLICABLE
}

/** The last call of a tool. */
export function lastOf(seen: readonly SeenCall[], tool: string): SeenCall | undefined {
  return seen.findLast((call) => call.tool === tool)
}

/** A skill that calls one tool and describes the result. */
export function oneCall(
  call: { readonly tool: string; readonly args: object },
  seen: readonly SeenCall[],
  describe: (result: SeenCall) => string,
): Next {
  const result = lastOf(seen, call.tool)
  return result === undefined ? { calls: [call] } : { say: describe(result) }
}
