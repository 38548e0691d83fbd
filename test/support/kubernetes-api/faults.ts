/** How the server misbehaves, once its rule is met. */
export type FaultAction =
  /** Answers with this status; `body: 'text'` instead of a `Status` object. */
  | { readonly status: number; readonly reason?: string; readonly message?: string; readonly text?: string }
  /** Does what it is asked and then answers with this status, as a proxy that loses the answer. */
  | { readonly statusAfter: number }
  /** Waits before it answers as usual. */
  | { readonly delayMs: number }
  /** Never answers. */
  | 'hang'
  /** Cuts the connection before anything is done, or after. */
  | 'reset'
  | 'reset-after'
  /** Answers 200 with something that is no JSON, or with JSON that is no object of the API. */
  | 'garbage'
  | 'nonsense'
  /** A watch: an `ERROR` event in the stream, a cut line, an end with a bookmark or without a word, silence. */
  | 'watch-expired'
  | 'watch-half-line'
  | 'watch-end'
  | 'watch-bookmark'
  | 'watch-silent'
  | 'watch-unknown-event'

/** When to misbehave; an absent verb or resource stands for any. */
export interface Fault {
  readonly verb?: string
  readonly resource?: string
  /** Only for objects whose name matches. */
  readonly name?: RegExp
  /** How often; default 1. */
  readonly times?: number
  readonly action: FaultAction
}

/** The faults to come, taken in order by the requests that meet them. */
export class FaultScript {
  #faults: { rule: Fault; left: number }[] = []

  add(...faults: readonly Fault[]): void {
    this.#faults.push(...faults.map((rule) => ({ rule, left: rule.times ?? 1 })))
  }

  clear(): void {
    this.#faults = []
  }

  /** The action for a request; it is used up by this. */
  take(verb: string, resource: string, name = ''): FaultAction | undefined {
    const found = this.#faults.find(({ rule, left }) => {
      return (
        left > 0 &&
        (rule.verb ?? verb) === verb &&
        (rule.resource ?? resource) === resource &&
        (rule.name?.test(name) ?? true)
      )
    })
    if (!found) return undefined
    found.left -= 1
    return found.rule.action
  }
}
