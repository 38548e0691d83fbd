import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import type { ChatMessage, ModelToolCall, ToolDescription } from '../chat-model.ts'

/** A conversation in the Chat Completions format. */
export function toWireMessages(messages: readonly ChatMessage[]): ChatCompletionMessageParam[] {
  return messages.map((message) => {
    switch (message.role) {
      case 'tool':
        return { role: 'tool', tool_call_id: message.toolCallId, content: message.content }
      case 'assistant': {
        const { content, toolCalls } = message
        if (toolCalls.length === 0) return { role: 'assistant', content }
        return { role: 'assistant', content: content === '' ? null : content, tool_calls: toolCalls.map(toWireCall) }
      }
      default:
        return { role: message.role, content: message.content }
    }
  })
}

/** Tools in the Chat Completions format. */
export function toWireTools(tools: readonly ToolDescription[]): ChatCompletionTool[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters: { ...parameters } },
  }))
}

/** A call in the Chat Completions format; made valid, even when the provider's own call was not. */
function toWireCall({ id, name, arguments: args, extra }: ModelToolCall) {
  return {
    id,
    type: 'function' as const,
    function: { name: /^[\w-]{1,64}$/.test(name) ? name : 'unknown', arguments: objectText(args) },
    ...(extra === undefined ? {} : { extra_content: extra }),
  }
}

function objectText(args: unknown): string {
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return JSON.stringify(args)
  try {
    const value: unknown = typeof args === 'string' ? JSON.parse(args) : undefined
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : '{}'
  } catch {
    return '{}'
  }
}
