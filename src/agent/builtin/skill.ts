import type { JsonView } from './json-view.ts'
import type { Question } from './question.ts'

/** A call of a tool and its result, as a skill looks at them. */
export interface SeenCall {
  readonly tool: string
  readonly args: JsonView
  readonly data: JsonView
  /** Undefined: it succeeded. */
  readonly error: JsonView | undefined
  /** Whether there is more than the result shows. */
  readonly truncated: boolean
}

/** What a skill wants: more from the tools, or to say its answer. */
export type Next =
  | { readonly calls: readonly { readonly tool: string; readonly args: object }[] }
  | { readonly say: string }

/** What a skill answers when the question was none of its kind after all. */
export const NOT_UNDERSTOOD = { say: undefined } as const

/** One kind of question that the rules understand. */
export interface Skill {
  matches(question: Question): boolean
  /** Called again with what its calls came to, until it says something. */
  next(question: Question, seen: readonly SeenCall[]): Next | typeof NOT_UNDERSTOOD
}

/** The last call of a tool. */
export function lastOf(seen: readonly SeenCall[], tool: string): SeenCall | undefined {
  return seen.findLast((call) => call.tool === tool)
}

/** A skill that calls one tool and tells what came of it. */
export function oneCall(
  call: { readonly tool: string; readonly args: object },
  seen: readonly SeenCall[],
  tell: (result: SeenCall) => string,
): Next {
  const result = lastOf(seen, call.tool)
  return result === undefined ? { calls: [call] } : { say: tell(result) }
}
