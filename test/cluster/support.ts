import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node'
import { notebookName } from '../../src/notebooks/names.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

/** Files that describe the cluster of the tests; undefined: there is none. */
export const kubeconfig = process.env['KUBECONFIG']
if (!kubeconfig) {
  process.stderr.write('\nSKIPPED: notebooks on a real cluster: KUBECONFIG names none; see docs/notebooks.md\n')
}

const PATIENCE_MS = 600_000

/** A user of the service, and the user's resources in the cluster. */
export interface ClusterUser {
  readonly user: string
  call(method: 'GET' | 'POST', what: 'start' | 'stop' | 'status'): Promise<Answer>
  /** Waits for this status; fails if the status is `failed` before. */
  reach(status: string): Promise<Record<string, string>>
  /** The pod, as returned by the cluster. */
  pod(): Promise<V1Pod>
  /** The Lockhouse token in the notebook of a session. */
  tokenInside(session: string): Promise<string>
}

/** The service on the cluster of KUBECONFIG, and the cluster itself. */
export interface ClusterLab {
  readonly service: TestService
  readonly core: CoreV1Api
  readonly namespace: string
  newUser(user: string): Promise<ClusterUser>
  close(): Promise<void>
}

/** Starts a {@link ClusterLab}; `files` replace KUBECONFIG. */
export async function openCluster(files = kubeconfig ?? ''): Promise<ClusterLab> {
  const passed = Object.entries(process.env).filter(([name]) => name.startsWith('NOTEBOOK_'))
  const given = Object.fromEntries(passed.map(([name, value]) => [name, value ?? '']))
  const env = { NOTEBOOK_LOCKHOUSE_URL: 'http://lockhouse.test', ...given, KUBECONFIG: files }
  const config = new KubeConfig()
  config.loadFromFile((kubeconfig ?? '').split(':')[0] ?? '')
  const core = config.makeApiClient(CoreV1Api)
  const namespace =
    process.env['NOTEBOOK_NAMESPACE'] ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default'
  const service = await startTestService({ env })
  const users: ClusterUser[] = []
  return {
    service,
    core,
    namespace,
    async newUser(user) {
      const request = { user, role: 'DataEngineer', name: 'cluster test' }
      const { token } = (await service.post('/api/auth/tokens', request)).body
      const made = clusterUser({ service, core, namespace }, user, token)
      users.push(made)
      return made
    },
    async close() {
      for (const user of users) await user.call('POST', 'stop').catch(() => undefined)
      await service.close()
    },
  }
}

type Place = Pick<ClusterLab, 'service' | 'core' | 'namespace'>

function clusterUser({ service, core, namespace }: Place, user: string, token: string): ClusterUser {
  const name = notebookName(user)
  const call: ClusterUser['call'] = (method, what) =>
    service.call(method, `/api/notebook/${what}`, { token, ...(method === 'POST' ? { body: {} } : {}) })
  return {
    user,
    call,
    async reach(status) {
      const read = async () => {
        const { body } = await call('GET', 'status')
        const isFinal = body.status === status || body.status === 'failed'
        return isFinal ? body : undefined
      }
      const body = await until(read, async () => JSON.stringify((await call('GET', 'status')).body), PATIENCE_MS)
      if (body.status !== status) throw new Error(`the notebook is ${body.status}: ${body.reason}`)
      return body
    },
    pod: () => core.readNamespacedPod({ name, namespace }),
    async tokenInside(session) {
      const secret = await core.readNamespacedSecret({ name: `${name}-${session}-lake`, namespace })
      return Buffer.from(secret.data?.['token'] ?? '', 'base64').toString()
    },
  }
}
