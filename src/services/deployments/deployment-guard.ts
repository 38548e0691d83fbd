import { DomainError } from '../../domain/errors.ts'
import { createDeploymentStore, type DeploymentRecord } from '../../storage/stores/deployments/deployment-store.ts'
import type { PipelineRecord } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { Tx } from '../../storage/transactions.ts'
import type { PipelineOwners } from '../pipelines/pipeline-deps.ts'
import { rolloutInProgress } from './begin-rollout.ts'
import { isWaiting, stateWithout } from './waiting-rollout.ts'

/** Keeps users from starting, stopping and deleting pipelines that a deployment or its rollout needs. */
export const deploymentGuard: PipelineOwners = {
  async requireStartable(tx, pipeline) {
    await requireNoRollout(tx, pipeline)
    const owner = await ownerOf(tx, pipeline.id)
    if (owner) throw owned(owner, pipeline.id, 'deploy it instead')
  },
  async beforeStop(tx, id) {
    const deployments = createDeploymentStore(tx)
    const record = await deployments.findByPipeline(id)
    if (record && isRollingOut(record)) throw rolloutInProgress(record)
    // an error while it stops is no failure of the version
    if (record?.guard?.pipelineId === id) await deployments.endGuard(record)
  },
  async requireDeletable(tx, id) {
    const record = await createDeploymentStore(tx).findByPipeline(id)
    if (record && isRollingOut(record)) throw rolloutInProgress(record)
    const owner = await ownerOf(tx, id)
    if (owner) throw owned(owner, id, 'undeploy it first')
  },
}

/** A rollout that waits for a window has not touched the pipeline yet. */
function isRollingOut(record: DeploymentRecord): boolean {
  return record.rollout !== undefined && !isWaiting(record)
}

async function ownerOf(tx: Tx, pipelineId: string): Promise<DeploymentRecord | undefined> {
  const record = await createDeploymentStore(tx).findByPipeline(pipelineId)
  return record === undefined || stateWithout(record) === 'none' ? undefined : record
}

/** During a rollout neither the old nor the new pipeline may be live, but their sinks are in use. */
async function requireNoRollout(tx: Tx, { sinkTable }: Pick<PipelineRecord, 'sinkTable'>): Promise<void> {
  for (const record of await createDeploymentStore(tx).listRollouts()) {
    const { previous, planned } = record.rollout ?? {}
    if (previous?.sinkTable === sinkTable || planned?.pipeline.sinkTable === sinkTable) throw rolloutInProgress(record)
  }
}

function owned({ definitionId, environment }: DeploymentRecord, id: string, advice: string): DomainError {
  return new DomainError('CONFLICT', `pipeline ${id} belongs to ${definitionId} in ${environment}: ${advice}`)
}
