import {
  actionParams,
  agentAction,
  agentActionList,
  chatAnswer,
  chatDetail,
  chatList,
  chatParams,
  chatQuery,
  chatRequest,
  listActionsQuery,
  providerList,
} from '../../schemas/agent.ts'
import { pageQuery } from '../../schemas/common.ts'
import { emptyRequest } from '../../schemas/definitions.ts'
import type { ActionService } from '../../agent/actions/action-service.ts'
import type { AgentService } from '../../agent/chats/agent-service.ts'
import type { ModelChoice } from '../../agent/chats/model-choice.ts'
import type { TranscriptService } from '../../agent/chats/transcript-service.ts'
import { agentStream } from './agent-stream.ts'
import { prefersAsync } from '../routing/prefer.ts'
import { requestContext, type Route, route } from '../routing/route.ts'

export interface AgentRouteDeps {
  readonly agent: AgentService
  readonly agentActions: ActionService
  readonly agentTranscripts: TranscriptService
  readonly agentModels: ModelChoice
}

/** The agent (docs/api.md#agent). */
export function agentRoutes(deps: AgentRouteDeps): Route[] {
  return [
    chatRoute(deps),
    providersRoute(deps),
    ...transcriptRoutes(deps),
    ...actionReadRoutes(deps),
    ...actionDecisionRoutes(deps),
  ]
}

function chatRoute({ agent }: AgentRouteDeps): Route {
  return route({
    method: 'post',
    path: '/api/agent/chat',
    operationId: 'chatWithAgent',
    reach: 'filtered',
    summary:
      'Ask the agent; with `Accept: text/event-stream` the run as events ' +
      '`delta`, `tool_start`, `tool_result`, `needs_confirmation` and at last `done` or `error`',
    minRole: 'DataEngineer',
    body: chatRequest,
    responses: {
      200: { description: 'The answer, and the tool calls that led to it', schema: chatAnswer, orEventStream: true },
    },
    refuses: [404, 502, 504],
  }).handle(async (input) => {
    const { exchange, body: request } = input
    const { signal } = exchange.request
    const callerKey = exchange.header('x-model-api-key')
    const chat = await agent.open({ request, context: requestContext(input), callerKey, signal })
    if (exchange.header('accept')?.includes('text/event-stream')) return agentStream(chat, input)
    return { status: 200, body: await chat.run({ signal }) }
  })
}

function providersRoute({ agentModels }: AgentRouteDeps): Route {
  return route({
    method: 'get',
    path: '/api/agent/providers',
    operationId: 'listAgentProviders',
    reach: 'none',
    summary: 'Providers of language models, whether each is configured, and their default models',
    minRole: 'Auditor',
    responses: { 200: { description: 'All providers; never a key', schema: providerList } },
  }).handle(async () => ({
    status: 200,
    body: {
      success: true,
      default_provider: agentModels.defaultProvider,
      default_model: agentModels.defaultModel,
      providers: agentModels.providers(),
    },
  }))
}

function transcriptRoutes({ agentTranscripts }: AgentRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/agent/chats',
      operationId: 'listAgentChats',
      reach: 'none',
      summary: 'Conversations of the caller, newest first',
      minRole: 'DataEngineer',
      query: pageQuery,
      responses: { 200: { description: 'A page of conversations', schema: chatList } },
    }).handle(async (input) => {
      const { items, next_page_token } = await agentTranscripts.list(input.query, requestContext(input))
      return { status: 200, body: { success: true, chats: items, next_page_token } }
    }),
    route({
      method: 'get',
      path: '/api/agent/chats/{chat_id}',
      operationId: 'getAgentChat',
      reach: 'none',
      summary: 'One conversation of the caller with its turns, oldest first',
      minRole: 'DataEngineer',
      params: chatParams,
      query: chatQuery,
      responses: { 200: { description: 'The conversation and a page of its turns', schema: chatDetail } },
    }).handle(async (input) => ({
      status: 200,
      body: await agentTranscripts.get(input.params.chat_id, input.query, requestContext(input)),
    })),
  ]
}

function actionReadRoutes({ agentActions }: AgentRouteDeps): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/agent/actions',
      operationId: 'listAgentActions',
      reach: 'none',
      summary: 'Changes that the agent proposed to the caller, newest first',
      minRole: 'DataEngineer',
      query: listActionsQuery,
      responses: { 200: { description: 'A page of actions', schema: agentActionList } },
    }).handle(async (input) => {
      const { items, next_page_token } = await agentActions.list(input.query, requestContext(input))
      return { status: 200, body: { success: true, actions: items, next_page_token } }
    }),
    route({
      method: 'get',
      path: '/api/agent/actions/{action_id}',
      operationId: 'getAgentAction',
      reach: 'none',
      summary: 'One proposed change and its outcome',
      minRole: 'DataEngineer',
      params: actionParams,
      responses: { 200: { description: 'The action', schema: agentAction } },
    }).handle(async (input) => ({
      status: 200,
      body: await agentActions.get(input.params.action_id, requestContext(input)),
    })),
  ]
}

function actionDecisionRoutes({ agentActions }: AgentRouteDeps): Route[] {
  return [
    route({
      method: 'post',
      path: '/api/agent/actions/{action_id}/confirm',
      operationId: 'confirmAgentAction',
      reach: 'none',
      summary: 'Run a proposed change, once, with the current role of the caller',
      minRole: 'DataEngineer',
      params: actionParams,
      body: emptyRequest,
      headers: ['Prefer'],
      responses: {
        200: { description: 'The completed action; repeated requests get the same response', schema: agentAction },
        202: { description: 'Accepted (`Prefer: respond-async`); `Location` is the action', schema: agentAction },
      },
    }).handle(async (input) => {
      const { params, exchange } = input
      const { action, isRepeated, done } = await agentActions.confirm(params.action_id, requestContext(input))
      if (isRepeated) return { status: 200, body: action, headers: { 'Idempotent-Replayed': 'true' } }
      if (!prefersAsync(exchange.headers)) return { status: 200, body: await done }
      return {
        status: 202,
        headers: { Location: `/api/agent/actions/${action.id}`, 'Preference-Applied': 'respond-async' },
        body: action,
      }
    }),
    route({
      method: 'post',
      path: '/api/agent/actions/{action_id}/dismiss',
      operationId: 'dismissAgentAction',
      reach: 'none',
      summary: 'Dismiss a proposed change permanently',
      minRole: 'DataEngineer',
      params: actionParams,
      body: emptyRequest,
      responses: { 200: { description: 'The action, dismissed', schema: agentAction } },
    }).handle(async (input) => ({
      status: 200,
      body: await agentActions.dismiss(input.params.action_id, requestContext(input)),
    })),
  ]
}
