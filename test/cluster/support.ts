import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node'
import { setTimeout as sleep } from 'node:timers/promises'
import { notebookName } from '../../src/notebooks/notebook-names.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'

/** Files that describe the cluster to test on; undefined: there is none. */
export const kubeconfig = process.env['KUBECONFIG']
if (!kubeconfig) {
  process.stderr.write('\nSKIPPED: notebooks on a real cluster: KUBECONFIG names none; see docs/notebooks.md\n')
}

const PATIENCE_MS = 600_000

/** A user of the service, and what is hers in the cluster. */
export interface ClusterUser {
  readonly user: string
  call(method: 'GET' | 'POST', what: 'start' | 'stop' | 'status'): Promise<Answer>
  /** Waits until the status is this one; fails when it is `failed` before. */
  reach(status: string): Promise<Record<string, string>>
  /** The pod, as the cluster has it. */
  pod(): Promise<V1Pod>
  /** The Lockhouse token in the notebook of a session. */
  tokenInside(session: string): Promise<string>
}

/** The service on the cluster that KUBECONFIG names, and the cluster itself. */
export interface ClusterLab {
  readonly service: TestService
  readonly core: CoreV1Api
  readonly namespace: string
  newUser(user: string): Promise<ClusterUser>
  close(): Promise<void>
}

/** Starts a {@link ClusterLab}; `files` stand in for KUBECONFIG. */
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
      for (const until = Date.now() + PATIENCE_MS; ; await sleep(1000)) {
        const { body } = await call('GET', 'status')
        if (body.status === status) return body
        const isOver = body.status === 'failed' || Date.now() > until
        if (isOver) throw new Error(`the notebook is ${body.status}: ${body.reason}`)
      }
    },
    pod: () => core.readNamespacedPod({ name, namespace }),
    async tokenInside(session) {
      const secret = await core.readNamespacedSecret({ name: `${name}-${session}-lake`, namespace })
      return Buffer.from(secret.data?.['token'] ?? '', 'base64').toString()
    },
  }
}
