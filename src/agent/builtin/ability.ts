import type { JsonView } from './json-view.ts'
import type { Question } from './question.ts'

/** A tool call and its result. */
export interface SeenCall {
  readonly tool: string
  readonly args: JsonView
  readonly data: JsonView
  /** Undefined: it succeeded. */
  readonly error: JsonView | undefined
  /** Whether the result was cut. */
  readonly truncated: boolean
}

/** The next step: tool calls, or the answer (`say`). */
export type Next =
  | { readonly calls: readonly { readonly tool: string; readonly args: object }[] }
  | { readonly say: string }

/** How the assistant answers a prompt about one subject. */
export interface Ability {
  /** Called again with the results of its calls, until it returns an answer. */
  next(question: Question, seen: readonly SeenCall[]): Next
}

/** Arguments read from a prompt, or the step that finds or asks for them. */
export type Reading = { readonly args: Readonly<Record<string, unknown>> } | { readonly next: Next }

/** Reads arguments of a tool; `args` are those that were read before. */
export type Reader = (question: Question, seen: readonly SeenCall[], args: Readonly<Record<string, unknown>>) => Reading

/** A tool, the readers of its arguments, and the answer that describes its result. */
export interface ToolAbility {
  readonly tool: string
  readonly reads: readonly Reader[]
  readonly describe: (result: SeenCall, question: Question) => string
}

/** Calls one tool when its arguments are known, and describes the result. */
export function callsTool({ tool, reads, describe }: ToolAbility): Ability {
  return {
    next(question, seen) {
      let args: Readonly<Record<string, unknown>> = {}
      for (const read of reads) {
        const reading = read(question, seen, args)
        if ('next' in reading) return reading.next
        args = { ...args, ...reading.args }
      }
      const result = lastOf(seen, tool)
      return result === undefined ? { calls: [{ tool, args }] } : { say: describe(result, question) }
    },
  }
}

/** The last call of a tool. */
export function lastOf(seen: readonly SeenCall[], tool: string): SeenCall | undefined {
  return seen.findLast((call) => call.tool === tool)
}
