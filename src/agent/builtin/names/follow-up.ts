import type { ChatMessage } from '../../model/chat-model.ts'
import { hasQuestionMark, isNegation } from '../language/speech.ts'
import { type Slot, tableNames, type Token, tokenize } from '../language/tokens.ts'
import { isFiller } from '../language/words.ts'
import type { Earlier } from '../question.ts'

/** Begins every answer that asks which object a prompt means. */
export const WHICH = 'Which'
/** Begins every answer that offers names for a misspelt one. */
export const DID_YOU_MEAN = 'Did you mean'

/** A prompt completed from its conversation. */
export interface Completed {
  readonly text: string
  readonly earlier: Earlier
}

const ORDINALS: readonly (readonly string[])[] = [
  ['first', '1st', 'worst', 'top', 'yes', 'yep', 'sure', 'former'],
  ['second', '2nd'],
  ['third', '3rd'],
]
const LAST = new Set(['last', 'latter'])
/** Words of a follow-up that only asks: `what about the first`. */
const ASKING = new Set(['what', 'how'])
const LINKS = new Set('other same about too as well number one option again what how and or only ok okay'.split(' '))

/** A message as far as it is read: a longer one is cut. */
type Said = Pick<ChatMessage, 'role' | 'content'>
const MAX_EARLIER = 2000

/** Names and descriptions in an answer: quoted text, except for an id at the beginning of a line. */
const QUOTED_TEXT = /(?<!^(?:- )?)`[^`\n]*`|^(?:- )?`(?![a-z]+-[0-9a-z]+`)[^`\n]*`/gm

/**
 * Completes a prompt that only makes sense after earlier messages. `the first` after a question of the assistant repeats the
 * prompt before with the chosen name; `and the other one?` asks the same about the other table.
 */
export function completeFromConversation(text: string, earlier: readonly ChatMessage[]): Completed {
  const said = earlier.map(({ role, content }) => ({ role, content: content.slice(0, MAX_EARLIER) }))
  const before = said.findLast(({ role }) => role === 'user')?.content
  const tokens = tokenize(text)
  const isFollowUp = before !== undefined && isOnlyChoice(tokens)
  const answer = earlier.findLast(({ role }) => role === 'assistant')?.content ?? ''
  const completed = isFollowUp ? complete({ text, tokens, before, answer, said }) : undefined
  return { text: completed ?? text, earlier: namedEarlier(said) }
}

interface FollowUp {
  readonly text: string
  readonly tokens: readonly Token[]
  /** The prompt before. */
  readonly before: string
  /** The answer before. */
  readonly answer: string
  readonly said: readonly Said[]
}

/** The prompt before with the name that a follow-up chooses; undefined when it chooses none. */
function complete({ text, tokens, before, answer, said }: FollowUp): string | undefined {
  if (tokens.some(({ lower }) => isNegation(lower))) return undefined
  const offered = offeredNames(answer)
  const [named] = tableNames(text)
  const chosen = chosenName(tokens, offered)
  const isAsking = hasQuestionMark(text) || tokens.some(({ lower }) => ASKING.has(lower))
  if (answer.startsWith(WHICH) || answer.includes(DID_YOU_MEAN)) {
    const name = named ?? chosen ?? spelledOut(text, offered)
    return name === undefined ? undefined : `${withName(before, name)}${isAsking ? ' ?' : ''}`
  }
  const table = named ?? otherTable(tokens, said, offered) ?? chosen
  // A change needs an order of its own, so that the repeated prompt only asks.
  return table === undefined ? undefined : `${withName(before, table)} ??`
}

/** What the user named last; what an answer named counts when it named only one table. */
function namedEarlier(messages: readonly Said[]): Earlier {
  const table = messages.findLast(({ role, content }) => {
    const names = tableNames(content)
    return role === 'user' ? names.length > 0 : role === 'assistant' && names.length === 1
  })
  return {
    table: table && tableNames(table.content).at(-1),
    pipeline: namedId(messages, '{pipeline}'),
    definition: namedId(messages, '{definition}'),
  }
}

/** The id in the last message that has any; undefined when it is an answer that names several, or was cut. */
function namedId(messages: readonly Said[], slot: Slot): string | undefined {
  for (const { role, content } of messages.toReversed()) {
    const text = role === 'user' ? content : content.replaceAll(QUOTED_TEXT, ' ')
    const ids = new Set(tokenize(text).flatMap((token) => (token.slot === slot ? [token.lower] : [])))
    if (ids.size === 0) continue
    return role === 'user' || (ids.size === 1 && content.length < MAX_EARLIER) ? [...ids].at(-1) : undefined
  }
  return undefined
}

/** Whether a prompt has nothing but names and words that choose. */
function isOnlyChoice(tokens: readonly Token[]): boolean {
  if (tokens.length > 8) return false
  const words = tokens.filter(({ lower, slot }) => slot === undefined && !isFiller(lower) && !LINKS.has(lower))
  const choosing = new Set([...ORDINALS.flat(), ...LAST])
  const others = words.filter(({ lower }) => !choosing.has(lower))
  // one word more may be the name of a table without its namespace; beside a table it is a request of its own
  const namesTable = tokens.some(({ slot }) => slot === '{table}')
  return others.length === 0 || (others.length === 1 && words.length === 1 && !namesTable)
}

function chosenName(tokens: readonly Token[], offered: readonly string[]): string | undefined {
  if (tokens.some(({ lower }) => LAST.has(lower))) return offered.at(-1)
  const at = ORDINALS.findIndex((words) => tokens.some(({ lower }) => words.includes(lower)))
  return at < 0 ? undefined : offered[at]
}

/** The offered name that a text contains, with or without its namespace. */
function spelledOut(text: string, offered: readonly string[]): string | undefined {
  const words = new Set(text.toLowerCase().split(/[\s,;:!?`"']+/))
  const named = offered.filter((name) => {
    const lower = name.toLowerCase()
    return words.has(lower) || words.has(lower.slice(lower.lastIndexOf('.') + 1))
  })
  return named.length === 1 ? named[0] : undefined
}

/** Names in the list of an answer, in order. */
function offeredNames(answer: string): readonly string[] {
  return answer.split('\n').flatMap((line) => {
    const [, name] = line.startsWith('- ') ? line.split('`') : []
    return name === undefined ? [] : [name]
  })
}

/** A prompt with another name: in place of the table that it names, or before the marks at its end, which keep a question one. */
function withName(before: string, name: string): string {
  const [old] = tableNames(before)
  if (old !== undefined) return before.replaceAll(old, () => name)
  const end = before.length - (/[\s.!?…。！？؟]*$/u.exec(before)?.[0].length ?? 0)
  return `${before.slice(0, end)} \`${name}\`${before.slice(end)}`
}

/** The table of `the other one`: another one of the last list, else the one named before the last. */
function otherTable(
  tokens: readonly Token[],
  messages: readonly Said[],
  offered: readonly string[],
): string | undefined {
  if (!tokens.some(({ lower }) => lower === 'other')) return undefined
  const names = messages.flatMap(({ role, content }) => (role === 'user' ? tableNames(content) : [])).toReversed()
  const [current] = names
  return [...names, ...offered].find((name) => name !== current && name.includes('.'))
}
