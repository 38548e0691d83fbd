import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deployedRules } from './deployed-role.ts'
import { type FakeKubernetes, type FakeKubernetesOptions, startFakeKubernetes } from './fake-kubernetes.ts'

/** A {@link FakeKubernetes} and the environment in which a service finds it. */
export interface TestCluster {
  readonly api: FakeKubernetes
  readonly kubeconfig: string
  readonly env: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Starts a cluster for a test, with the rights that a deployment grants. */
export async function startTestCluster(options: Partial<FakeKubernetesOptions> = {}): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'lockhouse-kubernetes-'))
  const api = await startFakeKubernetes({ rules: deployedRules(), ...options })
  const kubeconfig = await api.writeKubeconfig(join(folder, 'config'))
  return {
    api,
    kubeconfig,
    env: { KUBECONFIG: kubeconfig },
    async close() {
      await api.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
