import type { ExecutePlanResponse_ExecutionProgress } from '../generated/service_pb.ts'
import type { SparkProgress } from '../spark-client.ts'

/** The sums over all stages that Spark reported so far; a report may leave out stages that are done. */
export class StageSums {
  readonly #stages = new Map<bigint, { readonly tasks: number; readonly done: number; readonly bytes: number }>()

  add({ stages }: ExecutePlanResponse_ExecutionProgress): SparkProgress {
    for (const stage of stages) {
      this.#stages.set(stage.stageId, {
        tasks: Number(stage.numTasks),
        done: Number(stage.numCompletedTasks),
        bytes: Number(stage.inputBytesRead),
      })
    }
    const all = [...this.#stages.values()]
    return {
      tasksDone: sum(all.map(({ done }) => done)),
      tasksTotal: sum(all.map(({ tasks }) => tasks)),
      bytesRead: sum(all.map(({ bytes }) => bytes)),
    }
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
