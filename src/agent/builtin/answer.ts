import type { ChatMessage, ModelRequest, ToolDescription } from '../model/chat-model.ts'
import { HELP, HELP_SUBJECT, OTHER_SUBJECTS, TOOL_ABILITIES } from './abilities.ts'
import type { Ability, Next, SeenCall } from './ability.ts'
import { hasSql } from './answers/row-answers.ts'
import { createExampleIndex, type ExampleIndex } from './language/example-index.ts'
import { isFiller } from './language/words.ts'
import { completeFromConversation } from './names/follow-up.ts'
import { suggestTables } from './names/table-finder.ts'
import { type Question, readQuestion } from './question.ts'

/** A prompt, the messages before it, and the results of the calls that were made for it. */
export interface Prompt {
  readonly prompt: string
  readonly earlier: readonly ChatMessage[]
  readonly seen: readonly SeenCall[]
  readonly now: Date
}

/** Tools by whether the caller may use them. */
type Tools = Pick<ModelRequest, 'tools' | 'forbiddenTools'>

/**
 * A prompt less like its nearest example than this is not understood. A change needs an order that is nearly an example, and so
 * does a prompt that names nothing of this service.
 */
const MIN_SCORE = { read: 0.5, change: 0.6, vague: 0.8 }

/** Answers a prompt or calls tools for it. `unknown`: no example is near. `help`: the prompt asks what can be asked. */
export function answer({ prompt, earlier, seen, now }: Prompt, request: Tools): Next | 'help' | 'unknown' {
  const index = indexOf(request)
  const question = readQuestion({ ...completeFromConversation(prompt, earlier), now }, index)
  const subject = chooseSubject(question, index, request)
  if (subject === 'help' || subject === 'unknown') return subject
  const forbidden = request.forbiddenTools.find(({ name }) => name === subject)
  if (forbidden) return { say: `Only the ${forbidden.minRole} role can do that.` }
  const next = abilityOf(subject)?.next(question, seen) ?? 'unknown'
  return next === 'unknown' ? next : withSuggestions(next, seen)
}

function chooseSubject(question: Question, index: ExampleIndex, { tools, forbiddenTools }: Tools): string {
  const { speech, tokens, text } = question
  if (speech.kind === 'ban') return 'unknown'
  if (hasSql(text)) return 'query_table'
  if (tokens.length > 0 && tokens.every(({ lower, slot }) => slot === undefined && isFiller(lower))) return HELP
  const [nearest] = index.rank(tokens, speech)
  if (nearest === undefined) return 'unknown'
  const isChange = [...tools, ...forbiddenTools].some(({ name, isRead }) => name === nearest.name && !isRead)
  const isVague = !index.hasTopic(tokens)
  const min = isVague ? MIN_SCORE.vague : isChange ? MIN_SCORE.change : MIN_SCORE.read
  return nearest.score < min ? 'unknown' : nearest.name
}

function abilityOf(subject: string): Ability | undefined {
  return TOOL_ABILITIES[subject] ?? OTHER_SUBJECTS.find(({ name }) => name === subject)?.ability
}

/** Adds names of tables like the one that a call did not find. */
function withSuggestions(next: Next, seen: readonly SeenCall[]): Next {
  if (!('say' in next)) return next
  const missing = seen.find((call) => call.error !== undefined)
  const found = missing && suggestTables(missing, seen)
  if (found === undefined) return next
  return typeof found === 'string' ? { say: `${next.say}\n\n${found}` } : found
}

const indexes = new Map<string, ExampleIndex>()

/** The index over the examples of all tools; it is made once for each set of tools. */
function indexOf({ tools, forbiddenTools }: Tools): ExampleIndex {
  const names = [...tools, ...forbiddenTools].map(({ name }) => name).join(' ')
  const made = indexes.get(names) ?? createIndex([...tools, ...forbiddenTools])
  indexes.set(names, made)
  return made
}

function createIndex(tools: readonly ToolDescription[]): ExampleIndex {
  const usable = tools.filter(({ name }) => TOOL_ABILITIES[name] !== undefined)
  // Of equally near subjects the first is chosen: an order before a question about it.
  const subjects = usable.map(({ name, examples, isRead }) => ({ name, examples, isOrder: !isRead }))
  const orders = subjects.filter(({ isOrder }) => isOrder)
  const reads = subjects.filter(({ isOrder }) => !isOrder)
  return createExampleIndex([...orders, ...OTHER_SUBJECTS, ...reads, HELP_SUBJECT])
}
