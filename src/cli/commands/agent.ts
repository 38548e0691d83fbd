import { callCommand, listCommand } from '../api/api-command.ts'
import { showAnswer } from '../api/answer.ts'
import { endpointOf } from '../endpoint.ts'
import { fieldOptions, givenFields, simpleFields } from '../api/fields.ts'
import type { Call, Command } from '../command.ts'
import { jsonText, plainLines, plainText } from '../text.ts'
import { JSON_OPTION } from '../show.ts'

const CHAT_FIELDS = simpleFields(endpointOf('chatWithAgent'), ['prompt'])
const ACTION_EXCEPT = ['plan'] as const

/** Commands for the agent and the changes that it proposed. */
export const agentCommands: Readonly<Record<string, Command>> = {
  ask: {
    summary: 'ask the agent about tables, pipelines and maintenance',
    names: ['QUESTION'],
    options: { ...fieldOptions(CHAT_FIELDS), ...JSON_OPTION },
    examples: [
      'lockhouse ask "which tables need compaction?"',
      'lockhouse ask "compact demo.events" --provider builtin',
    ],
    endpoints: ['chatWithAgent'],
    run: ask,
  },
  'agent providers': callCommand('listAgentProviders', {
    summary: 'show the providers of language models and whether each is configured',
    tables: { providers: ['name', 'configured', 'default_model'] },
    examples: ['lockhouse agent providers'],
  }),
  'agent chats': listCommand('listAgentChats', {
    summary: 'list your conversations with the agent, newest first',
    columns: ['id', 'title', ['TURNS', 'turn_count'], ['UPDATED', 'updated_at']],
    none: 'no conversations',
    limit: 100,
    examples: ['lockhouse agent chats'],
  }),
  'agent chat': callCommand('getAgentChat', {
    summary: 'show one of your conversations with its turns, oldest first',
    tables: { turns: ['seq', 'prompt', 'response'] },
    examples: ['lockhouse agent chat chat-01k9…'],
  }),
  'agent actions': listCommand('listAgentActions', {
    summary: 'list changes that the agent proposed to you, newest first',
    columns: ['id', 'state', 'tool', 'summary', ['EXPIRES', 'expires_at']],
    none: 'no proposed changes',
    limit: 100,
    examples: ['lockhouse agent actions --state pending'],
  }),
  'agent action': callCommand('getAgentAction', {
    except: ACTION_EXCEPT,
    examples: ['lockhouse agent action act-01k9…'],
  }),
  'agent confirm': callCommand('confirmAgentAction', {
    summary: 'run a proposed change, once, with your current role',
    except: ACTION_EXCEPT,
    fails: ({ state, error }) => (state === 'failed' ? `the change failed: ${jsonText(error)}` : undefined),
    examples: ['lockhouse agent confirm act-01k9…'],
  }),
  'agent dismiss': callCommand('dismissAgentAction', {
    except: ACTION_EXCEPT,
    examples: ['lockhouse agent dismiss act-01k9…'],
  }),
}

interface Answered {
  readonly response: string
  readonly chat_id: string
  readonly pending_actions: readonly { readonly id: string; readonly summary: string }[]
}

async function ask(call: Call): Promise<void> {
  const body = { prompt: call.names[0], ...givenFields(call, CHAT_FIELDS) }
  const answer = (await call.api.send('POST', endpointOf('chatWithAgent').path, { body })).body as Answered
  if (call.isSet('json')) return showAnswer(call, answer, {})
  call.terminal.out(plainLines(answer.response))
  for (const { id, summary } of answer.pending_actions) {
    call.terminal.note(plainText(`to do this, run: lockhouse agent confirm ${id} (${summary})`))
  }
  call.terminal.note(`to continue: --chat-id ${answer.chat_id}`)
}
