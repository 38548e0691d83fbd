import type { ChatMessage, ChatModel, ModelReply, ModelRequest } from '../model/chat-model.ts'
import { changeSkills } from './change-skills.ts'
import { governanceSkills } from './governance-skills.ts'
import { JsonView } from './json-view.ts'
import { pipelineSkills } from './pipeline-skills.ts'
import { type Question, readQuestion } from './question.ts'
import { computedSkill, rowSkill } from './row-skills.ts'
import type { Next, SeenCall, Skill } from './skill.ts'
import { careFirst, tableFallback, tableSkills } from './table-skills.ts'
import { bullets } from './words.ts'

/** Name of the only model of the builtin provider. */
export const BUILTIN_MODEL = 'rules'

const DISCLAIMER = 'I am a rule-based assistant, not a language model'

const EXAMPLES = [
  'Which tables need care, and why?',
  'What is in demo.orders?',
  'How many rows does demo.orders have? Show 5 rows of demo.orders',
  'What would compacting demo.events do? What would expiring its snapshots do?',
  'Compact demo.events. Expire snapshots of demo.events older than 7 days',
  'Which pipelines are behind? Which pipelines failed?',
  'What is waiting for approval?',
  'What happened recently? Which operations failed?',
]

/** Longer prompts are cut: some rules take quadratic time in the length of the prompt. */
const MAX_PROMPT = 2000

const HELP =
  /^(hi|hello|hey|help|good (morning|day|evening)|thanks?|thank you)\b|\bwhat (can|do) you (do|know|understand)\b|\bwho are you\b|\bwhat are you\b|\bhelp me\b|\bhow (do|can) (i|you) (use|work)\b/

const helpSkill: Skill = {
  matches: ({ lower }) => HELP.test(lower),
  next: () => ({ say: `I answer questions like these:\n\n${bullets(EXAMPLES)}` }),
}

/** Most specific first: the first skill that matches answers. */
const SKILLS: readonly Skill[] = [
  helpSkill,
  careFirst,
  ...pipelineSkills.slice(0, 2),
  ...changeSkills,
  ...governanceSkills.slice(0, 1),
  ...pipelineSkills.slice(2),
  ...governanceSkills.slice(1),
  rowSkill,
  computedSkill,
  ...tableSkills,
  tableFallback,
]

/**
 * Answers common questions by rules, with the same tools as a language model: no key, no network, no cost. It
 * implements the interface of a model, and every answer states that it is not a language model.
 */
export function createBuiltinModel(now: () => Date): ChatModel {
  return {
    provider: 'builtin',
    name: BUILTIN_MODEL,
    costsTokens: false,
    complete: async (request) => complete(request, now()),
  }
}

function complete({ messages, mayCallTools, onDelta }: ModelRequest, now: Date): ModelReply {
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const prompt = (messages[at]?.content ?? '').slice(0, MAX_PROMPT)
  const earlier = messages.slice(0, at).filter(isUserOrAssistant)
  const question = readQuestion(
    prompt,
    earlier.map(({ content }) => content),
    now,
  )
  const next = answer(question, seenCalls(messages.slice(at + 1)))
  if ('calls' in next && mayCallTools) {
    const made = messages.length
    const toolCalls = next.calls.map(({ tool, args }, index) => ({
      id: `call${made}x${index}`,
      name: tool,
      arguments: args,
    }))
    return { ...FREE, text: '', toolCalls }
  }
  const words = 'say' in next ? next.say : 'That needs more steps than one question may use.'
  const text = `${words}\n\n(${DISCLAIMER}.)`
  onDelta?.(text)
  return { ...FREE, text, toolCalls: [] }
}

const FREE = { usage: { input_tokens: 0, output_tokens: 0, estimated: false }, isCutShort: false }

function isUserOrAssistant({ role }: ChatMessage): boolean {
  return role === 'user' || role === 'assistant'
}

function answer(question: Question, seen: readonly SeenCall[]): Next {
  const next = SKILLS.find((one) => one.matches(question))?.next(question, seen)
  if (next !== undefined && ('calls' in next || next.say !== undefined)) return next
  return {
    say: `I did not understand that: I only support certain questions and commands. Try one of these:\n\n${bullets(EXAMPLES)}`,
  }
}

/** The calls of this turn with their results. */
function seenCalls(messages: readonly ChatMessage[]): readonly SeenCall[] {
  const calls = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
      .map((call) => [call.id, call]),
  )
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return []
    const result = JsonView.parse(message.content)
    const error = result.at('error')
    const seen: SeenCall = {
      tool: message.name,
      args: new JsonView(calls.get(message.toolCallId)?.arguments),
      data: result.at('data'),
      error: error.exists ? error : undefined,
      truncated: result.at('truncated').isTrue,
    }
    return [seen]
  })
}
