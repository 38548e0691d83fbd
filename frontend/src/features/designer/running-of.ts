import { isAlive } from '../pipelines/pipeline-life.ts'
import { monitorStore } from '../pipelines/monitor-store.ts'

/** How many pipelines run a version, as the monitor tells. */
export function runningOf(versionId: string): number {
  let count = 0
  for (const { pipeline } of monitorStore.rows.values()) {
    if (pipeline.version_id === versionId && isAlive(pipeline)) count += 1
  }
  return count
}
