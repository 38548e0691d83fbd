import type { AgentServices } from '../agent/agent-services.ts'
import { DEFAULT_RUN_LIMITS, type RunLimits } from '../agent/run-limits.ts'
import { allTools } from '../agent/tools/all-tools.ts'
import type { ChangeTool } from '../agent/tools/tool.ts'
import type { Config } from '../config/config.ts'
import type { Env } from '../config/env.ts'
import type { IdSource } from '../domain/ids.ts'
import type { Engine } from '../engines/engine.ts'
import type { SqlSandbox } from '../engines/sql-sandbox.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type ActionService, createActionService } from '../services/agent/action-service.ts'
import { type AgentService, createAgentService } from '../services/agent/agent-service.ts'
import { createDailyTokens } from '../services/agent/daily-tokens.ts'
import { createModelChoice, type ModelChoice } from '../services/agent/model-choice.ts'
import { createSecretRedactor } from '../services/agent/secret-redactor.ts'
import { createTableRows } from '../services/agent/table-rows.ts'
import { createTranscriptService, type TranscriptService } from '../services/agent/transcript-service.ts'
import type { CatalogService } from '../services/catalog-service.ts'
import type { Logger } from '../services/logger.ts'
import type { MaintenanceService } from '../services/maintenance-service.ts'
import type { OperationService } from '../services/operation-service.ts'
import { toOperation } from '../services/operation-view.ts'
import type { PipelineService } from '../services/pipeline-service.ts'
import type { TableService } from '../services/table-service.ts'
import { createAgentActionStore } from '../storage/agent-action-store.ts'
import { createAgentChatStore } from '../storage/agent-chat-store.ts'
import { createAgentUsageStore } from '../storage/agent-usage-store.ts'
import type { Lifecycle } from './open-lifecycle.ts'
import type { State } from './open-state.ts'

export interface AgentParts {
  readonly config: Pick<Config, 'agent' | 'adminToken' | 'auditKey' | 'databaseUrl'>
  readonly env: Env
  readonly runtime: Pick<Runtime, 'createModelFetch'>
  readonly state: State
  readonly catalog: CatalogService
  readonly engine: Engine
  readonly sandbox: SqlSandbox
  readonly tables: TableService
  readonly maintenance: MaintenanceService
  readonly operations: OperationService
  readonly pipelines: PipelineService
  readonly lifecycle: Pick<Lifecycle, 'definitions' | 'versions' | 'approvals'>
  readonly newId: IdSource
  readonly now: () => Date
  readonly log: Logger
}

/** The agent: conversations, what it proposes, and what its tools reach. */
export interface Agent {
  readonly agent: AgentService
  readonly agentActions: ActionService
  readonly agentTranscripts: TranscriptService
  readonly agentModels: ModelChoice
  /** The same services as tools reach them, for other doors to the same registry. */
  readonly agentServices: AgentServices
}

/** The agent over the services of this process; `limits` replaces bounds in tests. */
export function openAgent(parts: AgentParts, limits?: Partial<RunLimits>): Agent {
  const { config, state, newId, now } = parts
  const { db, inTransaction, audit, events, instance } = state
  const { redact, heldFrom } = createSecretRedactor(knownSecrets(parts))
  const findTool = (name: string): ChangeTool | undefined =>
    allTools.find((tool): tool is ChangeTool => tool.name === name && tool.risk !== 'read')
  const store = createAgentActionStore(db)
  const bounds = { ...DEFAULT_RUN_LIMITS, ...limits }
  const services: AgentServices = {
    ...openReaders(parts, bounds),
    propose: (action, context) => actions.propose(action, context),
    redact,
    heldFrom,
  }
  const actions = createActionService({
    store,
    inTransaction,
    audit,
    events,
    instance,
    newId,
    now,
    findTool,
    services: () => services,
  })
  const models = createModelChoice({
    endpoints: {
      keys: config.agent.keys,
      allowedBases: config.agent.allowedBases,
      serverBases: config.agent.bases,
      guardedFetch: parts.runtime.createModelFetch({ allowPrivate: false }),
      // Named by the settings of the server, so it needs no check of its address, and its connections may be kept.
      plainFetch: (input, init) => fetch(input, init),
    },
    provider: config.agent.provider,
    model: config.agent.model,
    redact,
    now,
  })
  const chats = createAgentChatStore(db)
  const agent = createAgentService({
    chats,
    inTransaction,
    audit,
    models,
    tokens: createDailyTokens({ store: createAgentUsageStore(db), limit: config.agent.dailyTokenBudget, now }),
    tools: allTools,
    services,
    limits: bounds,
    newId,
    now,
  })
  return {
    agent,
    agentActions: actions,
    agentTranscripts: createTranscriptService(chats),
    agentModels: models,
    agentServices: services,
  }
}

/** What tools reach, but for what they propose. */
function openReaders(
  parts: AgentParts,
  { queryMs }: RunLimits,
): Omit<AgentServices, 'propose' | 'redact' | 'heldFrom'> {
  const { tables, maintenance, operations, pipelines, lifecycle, state, log } = parts
  // The answers of the table service have the shapes of the interface, which tests hold them to.
  return {
    tables: tables as unknown as AgentServices['tables'],
    maintenance: {
      preview: (kind, request, context) => maintenance.preview(kind, request, context),
      apply: async (kind, request, context) => (await maintenance.start(kind, request, context)).done,
    },
    pipelines: {
      list: async (query) => (await pipelines.list(query)) as Awaited<ReturnType<AgentServices['pipelines']['list']>>,
      status: async (id) => (await pipelines.status(id)) as Awaited<ReturnType<AgentServices['pipelines']['status']>>,
      start: (request, context) => pipelines.start(request, context),
      stop: (id, mode, context) => pipelines.stop(id, mode, context),
    },
    definitions: {
      list: (environment, page) => lifecycle.definitions.list(environment, page),
      versions: (id, page) => lifecycle.versions.list(id, page),
      version: (definitionId, id) => lifecycle.versions.get(definitionId, id),
      diff: (definitionId, from, to) => lifecycle.versions.diff(definitionId, from, to),
    },
    operations: {
      async list({ table, state: wanted }, page) {
        const filter = { ...(table === undefined ? {} : { table }), ...(wanted === undefined ? {} : { state: wanted }) }
        const { items, next_page_token } = await operations.list(filter, page)
        return { items: items.map(toOperation), next_page_token }
      },
    },
    approvals: { pending: (page) => lifecycle.approvals.pending(page) },
    queryRows: createTableRows({ ...parts, queryMs }),
    recordToolCalls: (entries) =>
      state.inTransaction(async (tx) => {
        for (const { tool, chatId, subject, code, ...entry } of entries) {
          const details = { on_behalf_of: entry.caller.user, chat_id: chatId ?? null, subject: subject ?? null }
          await state.audit.record(tx, {
            ...entry,
            action: 'tool.call',
            objectType: 'tool',
            objectId: tool,
            details: { ...details, ...(code === undefined ? {} : { code }) },
          })
        }
      }),
    logFailure: (error, tool, requestId) => log.error('a tool failed', { request_id: requestId, tool, error }),
  }
}

/** Settings that hold a secret, by the end of their names: `AGENT_DAILY_TOKENS` is none. */
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|CREDENTIALS)$/i

/** What must never be in a tool's result: every secret of the process's settings. */
function knownSecrets({ config, env, catalog }: AgentParts): () => readonly string[] {
  const password = URL.parse(config.databaseUrl ?? '')?.password ?? ''
  const fixed = [
    ...Object.values(config.agent.keys),
    config.adminToken,
    config.auditKey,
    config.databaseUrl,
    password,
    password && decodeURIComponent(password),
    ...Object.entries(env).map(([name, value]) => (SECRET_NAME.test(name) ? value : undefined)),
  ]
  let configured: readonly string[] | undefined
  let known: readonly string[] = []
  return () => {
    const current = catalog.secrets()
    if (current !== configured) {
      configured = current
      const named = current.map((value) => (value.startsWith('env:') ? env[value.slice('env:'.length)] : value))
      known = [...fixed, ...named].filter((secret): secret is string => typeof secret === 'string' && secret !== '')
    }
    return known
  }
}
