import { isAlive } from '../../pipelines/pipeline-life.ts'
import { monitorStore } from '../../pipelines/monitor/store.ts'

/** The number of pipelines that run a version, from the monitor. */
export function runningOf(versionId: string): number {
  let count = 0
  for (const { pipeline } of monitorStore.rows.values()) {
    if (pipeline.version_id === versionId && isAlive(pipeline)) count += 1
  }
  return count
}
