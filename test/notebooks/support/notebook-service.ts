import type { ContextOptions } from '../../../src/context/create-context.ts'
import type { Role } from '../../../src/domain/roles.ts'
import type { FakeKubernetesOptions } from '../../support/kubernetes-api/fake-kubernetes.ts'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type Answer, startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/waiting.ts'

/** A service with its own cluster. */
export interface NotebookHarness {
  readonly cluster: TestCluster
  readonly service: TestService
  /** Creates a token for a user. */
  tokenOf(user: string, role?: Role): Promise<string>
  start(token: string, body?: object): Promise<Answer>
  stop(token: string): Promise<Answer>
  status(token: string): Promise<Answer>
  /** Waits until a user's notebook has this status, and returns the response. */
  reach(token: string, status: string): Promise<Answer['body']>
  close(): Promise<void>
}

export interface HarnessOptions {
  readonly cluster?: Partial<FakeKubernetesOptions>
  readonly env?: Readonly<Record<string, string>>
  readonly overrides?: ContextOptions['overrides']
}

/** Starts a {@link NotebookHarness}. The service uses short timeouts for its cluster. */
export async function startNotebookHarness(options: HarnessOptions = {}): Promise<NotebookHarness> {
  const cluster = await startTestCluster(options.cluster)
  const service = await startTestService({
    env: { ...cluster.env, NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test:3000', ...options.env },
    overrides: {
      ...options.overrides,
      notebooks: { attemptMs: 1000, probeMs: 50, goneMs: 2000, cullMs: 3_600_000, ...options.overrides?.notebooks },
    },
  })
  const harness: NotebookHarness = {
    cluster,
    service,
    async tokenOf(user, role = 'DataEngineer') {
      const { body } = await service.post('/api/auth/tokens', { user, role, name: 'test' })
      return body.token
    },
    start: (token, body = {}) => service.post('/api/notebook/start', body, { token }),
    stop: (token) => service.post('/api/notebook/stop', {}, { token }),
    status: (token) => service.get('/api/notebook/status', { token }),
    async reach(token, status) {
      let last: Answer | undefined
      await until(async () => {
        last = await harness.status(token)
        return last.body.status === status
      })
      return last?.body
    },
    async close() {
      await service.close()
      await cluster.close()
    },
  }
  return harness
}
