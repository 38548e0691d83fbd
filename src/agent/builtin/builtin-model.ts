import type { ChatMessage, ChatModel, ModelReply, ModelRequest } from '../model/chat-model.ts'
import { BUILTIN_MODEL } from '../model/providers.ts'
import type { Next, SeenCall } from './ability.ts'
import { JsonView } from './json-view.ts'
import { suggest } from './answers/suggestions.ts'
import { answer } from './answer.ts'

const DISCLAIMER = 'I am a rule-based assistant, not a language model'

/** Longer prompts are cut: a question of more than a page is not one question. */
const MAX_PROMPT = 2000

/**
 * Answers common questions without a model, with the same tools: no key, no network, no cost. It chooses the tool whose
 * example is nearest to the prompt. It implements the interface of a model, and every answer states that it is not a
 * language model.
 */
export function createBuiltinModel(now: () => Date): ChatModel {
  return {
    provider: 'builtin',
    name: BUILTIN_MODEL,
    costsTokens: false,
    complete: (request) => complete(request, now()),
  }
}

async function complete(request: ModelRequest, now: Date): Promise<ModelReply> {
  const { messages, mayCallTools, onDelta } = request
  const at = messages.findLastIndex(({ role }) => role === 'user')
  const prompt = (messages[at]?.content ?? '').slice(0, MAX_PROMPT)
  const earlier = messages.slice(0, at).filter(isUserOrAssistant)
  const next = answer({ prompt, earlier, seen: seenCalls(messages.slice(at + 1)), now }, request)
  if (typeof next === 'object' && 'calls' in next && mayCallTools)
    return { ...FREE, text: '', toolCalls: toCalls(next, messages.length) }
  const text = `${await toText(next, request)}\n\n(${DISCLAIMER}.)`
  onDelta?.(text)
  return { ...FREE, text, toolCalls: [] }
}

const FREE = { usage: { input_tokens: 0, output_tokens: 0, estimated: false }, isCutShort: false }

function toCalls({ calls }: Extract<Next, { readonly calls: unknown }>, made: number): ModelReply['toolCalls'] {
  return calls.map(({ tool, args }, index) => ({ id: `call${made}x${index}`, name: tool, arguments: args }))
}

async function toText(next: ReturnType<typeof answer>, request: ModelRequest): Promise<string> {
  if (next === 'help') return `I answer questions like these:\n\n${await suggest(request)}`
  if (next === 'unknown') {
    return `I did not understand that: I only support certain questions and commands. Try one of these:\n\n${await suggest(request)}`
  }
  return 'say' in next ? next.say : 'That needs more steps than one question may use.'
}

function isUserOrAssistant({ role }: ChatMessage): boolean {
  return role === 'user' || role === 'assistant'
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
