import type { RunLimits } from '../../src/agent/loop/run-limits.ts'
import { type ModelProvider, startModelProvider } from '../support/model-provider/model-provider.ts'
import { type Actor, actor } from '../support/lifecycle.ts'
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts'

export const PROVIDER_KEY = 'sk-agent-lab-0123456789abcdef'

/** A service and its users. The default model comes from a provider in this process. */
export interface AgentLab {
  readonly service: TestService
  readonly provider: ModelProvider
  /** DataEngineer. */
  readonly ana: Actor
  /** DataEngineer. */
  readonly bo: Actor
  /** LeadDataEngineer. */
  readonly lea: Actor
  /** Asks as `ana` and checks every answer against the OpenAPI document. */
  ask(prompt: string, more?: object): ReturnType<Actor['call']>
  close(): Promise<void>
}

export interface AgentLabOptions extends TestServiceOptions {
  readonly limits?: Partial<RunLimits>
}

/** Starts an {@link AgentLab}. */
export async function startAgentLab({ limits, env, overrides, ...options }: AgentLabOptions = {}): Promise<AgentLab> {
  const provider = await startModelProvider()
  const service = await startTestService({
    ...options,
    env: { OPENAI_API_KEY: PROVIDER_KEY, OPENAI_BASE_URL: provider.url, ...env },
    overrides: { ...overrides, ...(limits ? { agentLimits: limits } : {}) },
  })
  const ana = await actor(service, 'ana', 'DataEngineer')
  return {
    service,
    provider,
    ana,
    bo: await actor(service, 'bo', 'DataEngineer'),
    lea: await actor(service, 'lea', 'LeadDataEngineer'),
    ask: (prompt, more) => ana.call('POST', '/api/agent/chat', { prompt, ...more }),
    async close() {
      await service.close()
      await provider.close()
    },
  }
}

/** Makes two commits of three small files each, the second with deletes: compaction improves this table. */
export const SMALL_EVENTS = { commits: 2, filesPerCommit: 3, rowsPerFile: 20 }
