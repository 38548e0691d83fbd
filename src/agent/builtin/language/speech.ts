import type { Token } from './tokens.ts'
import { meaningOf } from './words.ts'

/** What a prompt does: it orders something with a verb, asks, or orders that something is not done. */
export type Speech =
  | { readonly kind: 'order'; readonly verb: string }
  | { readonly kind: 'question' }
  | { readonly kind: 'ban' }

/** Openings of polite orders; `Could you compact it?` is an order despite its question mark. */
const OPENINGS: readonly (readonly string[])[] = (
  'please|pls|plz|kindly|hi|hello|hey|ok|okay|now|then|and|also|just|quickly|so|yes|there|dear|go ahead and|' +
  'can you|could you|would you|will you|be so kind and|be so kind to|be so kind as to|mind|i want you to|id like you to|' +
  'i would like you to|i need you to|you should|you must|lets|let us'
)
  .split('|')
  .map((opening) => opening.split(' '))

/** Openings after which a question mark does not make a question. */
const REQUESTS = new Set(['can', 'could', 'would', 'will'])

const BANS = new Set(['dont', 'never', 'not', 'without', 'cannot'])

/** Words of somebody who wants to know what an order would do. */
const WONDERING = new Set(
  (
    'would happen happens if should effect effects impact plan preview simulate dry dryrun estimate worth why when who how ' +
    'whether explain'
  ).split(' '),
)

/** Endings of words that are no imperative: `compaction of …`, `deployed versions`, `deploys in qa`. */
const NOUN = /(?:ions?|ments?|iry|[^e]ed|[^s]s)$/

/** Reads the speech of a prompt. Anything that is not clearly an order is a question: a question changes nothing. */
export function readSpeech(text: string, tokens: readonly Token[]): Speech {
  const { rest, isRequest } = withoutOpenings(tokens)
  const [first, second] = rest
  if (first === undefined || first.slot !== undefined) return { kind: 'question' }
  if (BANS.has(first.lower) || (first.lower === 'do' && second?.lower === 'not')) return { kind: 'ban' }
  const hasQuestionMark = text.slice(0, isRequest ? text.trimEnd().length - 1 : undefined).includes('?')
  if (hasQuestionMark || rest.some(({ lower }) => WONDERING.has(lower))) return { kind: 'question' }
  return NOUN.test(first.lower) ? { kind: 'question' } : { kind: 'order', verb: meaningOf(first.lower) }
}

function withoutOpenings(tokens: readonly Token[]): { readonly rest: readonly Token[]; readonly isRequest: boolean } {
  let rest = tokens
  let isRequest = false
  for (;;) {
    const opening = OPENINGS.find((words) => words.every((word, at) => rest[at]?.lower === word))
    if (opening === undefined) return { rest, isRequest }
    isRequest ||= REQUESTS.has(opening[0] ?? '')
    rest = rest.slice(opening.length)
  }
}
