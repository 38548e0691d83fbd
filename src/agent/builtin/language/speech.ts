import { numberNamed, type Token, tokenize } from './tokens.ts'
import { meaningOf } from './words.ts'

/** What a prompt does: it orders something with a verb, asks, or orders that something is not done. */
export type Speech =
  | { readonly kind: 'order'; readonly verb: string }
  | { readonly kind: 'question' }
  | { readonly kind: 'ban' }

const KIND_WORDS = 'please|kindly|mind|be so kind and|be so kind to|be so kind as to'.split('|')

/** Openings of polite orders; `Could you compact it?` is an order despite its question mark, `Will you compact it?` is none. */
const OPENINGS: readonly (readonly string[])[] = [
  ...(
    'please|pls|plz|kindly|hi|hello|hey|ok|okay|now|then|and|also|just|quickly|so|yes|there|dear|go ahead and|' +
    'can you|could you|i want you to|id like you to|i would like you to|i need you to|you should|you must|lets|let us'
  ).split('|'),
  ...KIND_WORDS,
  ...['would', 'will'].flatMap((verb) => KIND_WORDS.map((words) => `${verb} you ${words}`)),
].map((opening) => opening.split(' '))

/** Openings after which a question mark does not make a question. */
const REQUESTS = new Set(['can', 'could', 'would', 'will'])

/** Question marks of all scripts. */
const QUESTION_MARK = /[?\u037e\u055e\u061f\u1367\u2e2e\ua60f\uff1f]/u

const BANS = new Set('dont never not without cannot'.split(' '))

const NEGATIONS = new Set(
  (
    'not never no none nothing nobody neither nor without cannot cant dont don doesnt didnt wont isnt arent wasnt shouldnt ' +
    'mustnt neednt couldnt wouldnt'
  ).split(' '),
)

/** Words with which a sentence is no plain order: it wonders, depends on something, leaves something out, or takes itself back. */
const NO_ORDER = new Set(
  (
    'would happen happens if should effect effects impact plan preview simulate dry dryrun estimate worth why when who how ' +
    'whether explain or either maybe perhaps unless whenever once until till provided assuming case otherwise ' +
    'later tomorrow tonight leave leaving save nope nah excl excluding exclude excluded skip skipping ignore ignoring omit omitting besides apart ' +
    'avoid instead rather minus nevermind forget wait cancel kidding mistake hold scratch ' +
    'idea thought suggestion proposal request attempt intention discussion'
  ).split(' '),
)

/** Verbs of statements: `compact failed`, `compacting it was slow`. */
const FINITE = new Set(
  (
    'is are was were has have had does did makes made helps helped takes took needs fails failed works worked succeeds ' +
    'succeeded crashed finished completed ended broke runs ran seems looks causes caused'
  ).split(' '),
)
/** Words after which such a verb only describes what the order names: `those that failed`, `the failed deployment`. */
const DESCRIBING = new Set(
  'which that what whatever who it this they these we you i the a an last latest all'.split(' '),
)

/** Words between `all but` and the number of snapshots to keep. */
const KEPT = new Set('for the last newest latest most recent keep keeping retain retaining at least only'.split(' '))

const CHANGES = new Set('compact expire drop rename deploy undeploy rollback add'.split(' ').map(meaningOf))
const [DROP, ADD, RENAME, CHANGE] = ['drop', 'add', 'rename', 'change'].map(meaningOf)

/** Endings of words that are no imperative: `compaction of …`, `deployed versions`, `deploys in qa`. */
const NOUN = /(?:ions?|ments?|iry|[^e]ed|[^s]s)$/

/** Reads the speech of a prompt. Anything that is not clearly an order is a question: a question changes nothing. */
export function readSpeech(text: string): Speech {
  const spoken = withoutQuotes(text)
  const { rest, isRequest } = withoutOpenings(tokenize(spoken))
  const [first] = rest
  const second = wordAt(rest, 1)
  if (first === undefined || first.slot !== undefined) return { kind: 'question' }
  if (BANS.has(first.lower) || (first.lower === 'do' && second === 'not')) return { kind: 'ban' }
  const asked = isRequest ? spoken.trimEnd().slice(0, -1) : spoken
  const isOrder =
    !hasQuestionMark(asked) &&
    !NOUN.test(first.lower) &&
    second !== 'of' &&
    !rest.some((_, at) => at > 0 && breaksOrder(rest, at))
  return isOrder ? { kind: 'order', verb: meaningOf(first.lower) } : { kind: 'question' }
}

/** Quoted text is a name. `don\`t` has no quote. */
function withoutQuotes(text: string): string {
  const plain = text.normalize('NFKC').replaceAll(/\p{Cf}/gu, '')
  return plain.replaceAll(/(?<![\p{L}\p{N}])(["'`])(?:(?!\1).)*\1(?![\p{L}\p{N}])|“[^”]*”/gsu, ' {column} ')
}

/** Whether the word at an index makes a sentence more, or less, than an order. */
function breaksOrder(rest: readonly Token[], at: number): boolean {
  const lower = wordAt(rest, at)
  if (rest[at]?.slot !== undefined || isColumnName(rest, at)) return false
  if (lower === 'but' || lower === 'except') return !keepsSnapshots(rest, at)
  if (lower === 'other') return wordAt(rest, at + 1) === 'than'
  if (FINITE.has(lower)) return !DESCRIBING.has(wordAt(rest, at - 1))
  return NEGATIONS.has(lower) || NO_ORDER.has(lower) || isSecondChange(rest, at) || isEveryTable(rest, at)
}

/** `Stop compacting it`, `the request to compact it`. */
function isSecondChange(rest: readonly Token[], at: number): boolean {
  const lower = wordAt(rest, at)
  return CHANGES.has(meaningOf(lower)) && (lower.endsWith('ing') || wordAt(rest, at - 1) === 'to')
}

/** An order for all tables that also names one probably leaves that one out. */
function isEveryTable(rest: readonly Token[], at: number): boolean {
  const isEvery = /^tables?$/.test(wordAt(rest, at)) && /^(?:all|every|each|other|any)$/.test(wordAt(rest, at - 1))
  return isEvery && rest.some(({ slot }) => slot === '{table}')
}

function wordAt(rest: readonly Token[], at: number): string {
  return rest[at]?.lower ?? ''
}

/** `All but the last 5 snapshots` limits an order, `all but demo.events` does not. */
function keepsSnapshots(rest: readonly Token[], at: number): boolean {
  const number = rest.findIndex(({ lower }, index) => index > at && !KEPT.has(lower))
  const isLimit = numberNamed(rest[number]) !== undefined && !wordAt(rest, number + 1).startsWith('table')
  return isLimit && rest.some(({ lower }) => lower.startsWith('snapshot'))
}

const COLUMN = new Set(['column', 'field', 'attribute'])
const CALLED = new Set(['called', 'named'])
const TO = new Set(['to', 'into', 'as'])

/** Whether a word stands where an order to change a column has a name. */
function isColumnName(rest: readonly Token[], at: number): boolean {
  const verb = meaningOf(wordAt(rest, 0))
  const isRename = verb === RENAME || verb === CHANGE
  if (!isRename && verb !== DROP && verb !== ADD) return false
  const before = wordAt(rest, at - 1)
  return COLUMN.has(CALLED.has(before) ? wordAt(rest, at - 2) : before) || (isRename && TO.has(before))
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

/** Whether a lower-case word negates. */
export function isNegation(word: string): boolean {
  return NEGATIONS.has(word)
}

/** Whether a text has a question mark of any script. */
export function hasQuestionMark(text: string): boolean {
  return QUESTION_MARK.test(text)
}
