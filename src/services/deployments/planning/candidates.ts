import { canonicalJson } from '../../../domain/json/canonical-json.ts'
import type { DeploymentAction } from '../../../domain/deployments.ts'
import { type RunEnvironment, type Environment, ENVIRONMENTS } from '../../../domain/environments.ts'
import { sha256Hex } from '../../../lib/sha256.ts'
import type { DeploymentKey } from '../../../storage/stores/deployments/deployment-store.ts'
import type { LifecycleStores } from '../../../storage/stores/lifecycle-stores.ts'
import type { VersionSummary } from '../../../storage/stores/version-store.ts'
import type { DeploymentSettings } from '../deployment-deps.ts'

type Versions = Pick<LifecycleStores, 'versions'>

/** Whether a version may run in an environment: it is there, or was promoted from there. */
export function mayRunIn(version: { readonly environment: Environment }, environment: RunEnvironment): boolean {
  if (version.environment === 'retired') return false
  return ENVIRONMENTS.indexOf(version.environment) >= ENVIRONMENTS.indexOf(environment)
}

/**
 * The version that a deployment would run: the newest in the environment, or the one that runs there if it is newer and
 * has been promoted since. Undefined when there is none.
 */
export async function candidateOf(
  stores: Versions,
  key: DeploymentKey,
  runningVersionId: string | undefined,
): Promise<VersionSummary | undefined> {
  const newestId = (await stores.versions.newestIn(key.definitionId, key.environment))?.id
  const newest = newestId === undefined ? undefined : await stores.versions.find(key.definitionId, newestId)
  return candidateAmong(stores, key, { newest, runningVersionId })
}

/** A rollout whose version is asked for. */
export interface AskedRollout {
  readonly action: DeploymentAction
  /** The version that was named; undefined: the newest. */
  readonly versionId?: string | undefined
  readonly runningVersionId?: string | undefined
}

/** The version that a rollout would run as the definition is now; undefined for a rollout that runs none. */
export async function versionToRun(
  stores: Versions,
  key: DeploymentKey,
  { action, versionId, runningVersionId }: AskedRollout,
): Promise<string | undefined> {
  if (versionId !== undefined || action !== 'deploy') return versionId
  return (await candidateOf(stores, key, runningVersionId))?.id
}

/** As {@link candidateOf}, when the newest version in the environment is known. */
export async function candidateAmong(
  { versions }: Versions,
  { definitionId, environment }: DeploymentKey,
  known: { readonly newest: VersionSummary | undefined; readonly runningVersionId: string | undefined },
): Promise<VersionSummary | undefined> {
  const { newest, runningVersionId } = known
  if (runningVersionId === undefined || runningVersionId === newest?.id) return newest
  const running = await versions.find(definitionId, runningVersionId)
  if (running === undefined || !mayRunIn(running, environment)) return newest
  return newest !== undefined && newest.version > running.version ? newest : running
}

/** Hash of the settings that a deployment runs with; the checkpoint root matters only for new checkpoints. */
export function settingsHash(settings: DeploymentSettings): string {
  const { checkpointRoot: _, deploy: __, engine, ...used } = settings
  // without the default engine, as hashes of earlier versions of the service are
  return sha256Hex(canonicalJson(engine === 'embedded' ? used : { ...used, engine }))
}
