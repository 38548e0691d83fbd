import { expect } from 'vitest'
import type { Answer, Service } from '../../interop/harness/service.ts'
import { until } from '../../support/waiting.ts'

/** The service with short waits between attempts. */
export const QUICK_SERVICE = 'test/faults/harness/quick-service-in-process.ts'

/** What these tests look at in a deployment. */
export interface Deployment {
  readonly state: string
  readonly reason: string | null
  readonly running_version_id: string | null
  readonly pipeline_id: string | null
  readonly rollout: { readonly id: string; readonly action: string; readonly phase: string } | null
}

/** An entry of the history of deployments. */
export interface HistoryEntry {
  readonly id: string
  readonly action: string
  readonly outcome: string
  readonly version_id: string | null
  readonly reason: string | null
}

interface Pipeline {
  readonly id: string
  readonly state: string
}

const PATIENCE_MS = 90_000

/** One definition in development, used over HTTP through whichever service runs now. */
export class Rollouts {
  readonly #service: () => Service
  #definitionId: string

  constructor(service: () => Service, definitionId = '') {
    this.#service = service
    this.#definitionId = definitionId
  }

  get definitionId(): string {
    return this.#definitionId
  }

  /** Creates the definition with its first version, and sets the defaults of the environment. */
  async create(graph: object, more: { readonly checkpoint_root?: string } = {}): Promise<string> {
    const defaults = { trigger_interval: '100 ms', max_files_per_batch: 3, ...more }
    const settings = await this.#service().put('/api/environments/development', { defaults })
    expect(settings.status, JSON.stringify(settings.body)).toBe(200)
    const { status, body } = await this.#service().post('/api/pipeline-defs', {
      name: 'copy',
      description: 'copies',
      ...graph,
    })
    expect(status, JSON.stringify(body)).toBe(201)
    this.#definitionId = (body['definition'] as { id: string }).id
    return (body['version'] as { id: string }).id
  }

  async addVersion(graph: object): Promise<string> {
    const { status, body } = await this.#service().post(`/api/pipeline-defs/${this.#definitionId}/versions`, graph)
    expect(status, JSON.stringify(body)).toBe(201)
    return String(body['id'])
  }

  change(action: 'deploy' | 'undeploy' | 'rollback', more: object = {}): Promise<Answer> {
    const path = `/api/pipeline-defs/${this.#definitionId}/${action}`
    return this.#service().post(path, { environment: 'development', ...more })
  }

  async deployment(): Promise<Deployment> {
    const path = `/api/deployments?definition_id=${this.#definitionId}&environment=development`
    const [found] = await this.#service().read<Deployment[]>(path)
    if (found === undefined) throw new Error('there is no deployment')
    return found
  }

  /** Waits until no rollout is in progress. */
  async settled(): Promise<Deployment> {
    return until(
      async () => {
        const now = await this.deployment()
        return now.rollout === null && now
      },
      async () => `the end of a rollout: ${JSON.stringify(await this.deployment())}\n${this.#service().log}`,
      PATIENCE_MS,
    )
  }

  async lastEntry(): Promise<HistoryEntry | undefined> {
    const path = `/api/pipeline-defs/${this.#definitionId}/deployments`
    return (await this.#service().read<HistoryEntry[]>(path))[0]
  }

  /** All pipelines of the service, which has none but those of the deployment. */
  async pipelines(): Promise<readonly Pipeline[]> {
    return (await this.#service().read<{ pipelines: Pipeline[] }>('/api/pipelines')).pipelines
  }

  /** Expects that just the pipeline of the deployment is left, and that it is live if a version runs. */
  async expectOnePipeline(now: Deployment): Promise<void> {
    const all = await this.pipelines()
    const seen = JSON.stringify({ now, all })
    expect(
      all.map(({ id }) => id),
      seen,
    ).toEqual([now.pipeline_id])
    const live = all.filter(({ state }) => state !== 'stopped' && state !== 'failed')
    expect(live.length, seen).toBe(now.running_version_id === null ? 0 : 1)
  }
}
