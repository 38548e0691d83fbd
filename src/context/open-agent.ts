import { type ActionService, createActionService } from '../agent/actions/action-service.ts'
import { type AgentService, createAgentService } from '../agent/chats/agent-service.ts'
import { createDailyTokens } from '../agent/chats/daily-tokens.ts'
import { createTranscriptService, type TranscriptService } from '../agent/chats/transcript-service.ts'
import { DEFAULT_RUN_LIMITS, type RunLimits } from '../agent/loop/run-limits.ts'
import { createModelChoice, type ModelChoice } from '../agent/chats/model-choice.ts'
import { createModelFetch } from '../agent/model/model-fetch.ts'
import { allTools, findChangeTool } from '../agent/tools/all-tools.ts'
import { knownSecrets } from '../agent/redaction/known-secrets.ts'
import { createRecordToolCalls } from '../agent/tools/record-tool-calls.ts'
import { createSecretRedactor } from '../agent/redaction/secret-redactor.ts'
import type { ToolServices } from '../agent/tools/tool-services.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import type { SqlSandbox } from '../engines/sql-sandbox.ts'
import type { CatalogService } from '../services/catalogs/catalog-service.ts'
import type { FilePlanner } from '../services/query/plan-files.ts'
import { createTableQuery } from '../services/query/table-query.ts'
import type { Logger } from '../services/logger.ts'
import { createAgentActionStore } from '../storage/stores/agent/action-store.ts'
import { createAgentChatStore } from '../storage/stores/agent/chat-store.ts'
import { createAgentUsageStore } from '../storage/stores/agent/usage-store.ts'
import type { State } from './open-state.ts'

type CalledServices = Omit<ToolServices, 'queryRows' | 'propose' | 'recordToolCalls' | 'redact' | 'heldFrom' | 'log'>

export interface AgentParts extends CalledServices {
  readonly config: Pick<Config, 'agent' | 'adminToken' | 'auditKey' | 'databaseUrl' | 'oidc'>
  readonly env: Env
  readonly state: State
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly sandbox: SqlSandbox
  readonly planner: FilePlanner
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
}

/** The agent: conversations, the changes it proposes, and the services its tools call. */
export interface Agent {
  readonly agent: AgentService
  readonly agentActions: ActionService
  readonly agentTranscripts: TranscriptService
  readonly agentModels: ModelChoice
  /** Services for tool calls, for other protocols over the same registry. */
  readonly toolServices: ToolServices
}

/** Creates the agent; `limits` replaces the default limits in tests. */
export function openAgent(parts: AgentParts, limits?: Partial<RunLimits>): Agent {
  const { config, state, newId, now } = parts
  const { db, inTransaction, audit, events, instance } = state
  const runLimits = { ...DEFAULT_RUN_LIMITS, ...limits }
  const redactor = createSecretRedactor(knownSecrets(secretSources(parts)))
  const services: ToolServices = {
    ...toolServices(parts),
    ...redactor,
    queryRows: createTableQuery({ ...parts, queryMs: runLimits.queryMs }),
    recordToolCalls: createRecordToolCalls(state),
    propose: (action, context) => actions.propose(action, context),
  }
  const actions = createActionService({
    store: createAgentActionStore(db),
    inTransaction,
    audit,
    events,
    instance,
    newId,
    now,
    findTool: findChangeTool,
    services: () => services,
  })
  const models = openModels(parts, redactor.redact)
  const chats = createAgentChatStore(db)
  const agent = createAgentService({
    chats,
    inTransaction,
    audit,
    models,
    tokens: createDailyTokens({ store: createAgentUsageStore(db), limit: config.agent.dailyTokenBudget, now }),
    tools: allTools,
    services,
    limits: runLimits,
    newId,
    now,
  })
  return {
    agent,
    agentActions: actions,
    agentTranscripts: createTranscriptService(chats),
    agentModels: models,
    toolServices: services,
  }
}

/** Only the services: tools must not have access to the configuration. */
function toolServices({
  tables,
  maintenance,
  pipelines,
  definitions,
  environments,
  deployments,
  versions,
  operations,
  approvals,
  lineage,
  log,
}: AgentParts): CalledServices & Pick<ToolServices, 'log'> {
  const lifecycle = { definitions, environments, deployments, versions, approvals }
  return { ...lifecycle, tables, maintenance, pipelines, operations, lineage, log }
}

function openModels({ config, now }: AgentParts, redact: (text: string) => string): ModelChoice {
  const { keys, allowedBases, bases, provider, model } = config.agent
  return createModelChoice({
    endpoints: {
      keys,
      allowedBases,
      serverBases: bases,
      guardedFetch: createModelFetch({ allowPrivate: false }),
      // The address comes from the server's settings, so it needs no check and connections may be kept open.
      plainFetch: (input, init) => fetch(input, init),
    },
    provider,
    model,
    redact,
    now,
  })
}

function secretSources({ config, env, catalog }: AgentParts) {
  const { agent, adminToken, auditKey, databaseUrl, oidc } = config
  return {
    settings: [...Object.values(agent.keys), adminToken, auditKey, oidc?.clientSecret],
    databaseUrl,
    env,
    catalog: () => catalog.secrets(),
  }
}
