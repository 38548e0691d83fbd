import type { PipelineRecord, PipelineStore } from '../storage/pipeline-store.ts'
import type { PinKeeper } from './pin-keeper.ts'
import { canReadOn } from './pipeline-errors.ts'
import { fromStoredPosition } from './stored-positions.ts'

export interface RestingPinsDeps {
  readonly store: Pick<PipelineStore, 'list'>
  readonly pins: PinKeeper
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** Pins a source for a pipeline that does not run, exactly where reading will go on; where it cannot, lets go of it. */
export async function pinAtRest(
  pins: PinKeeper | undefined,
  { id, sources, error, positions = [] }: PipelineRecord,
): Promise<void> {
  await pins?.keep({
    pipelineId: id,
    sources,
    positions: positions.map(fromStoredPosition),
    mustHold: canReadOn(error?.code),
    isResting: true,
  })
}

/**
 * Looks again and again whether the pins of pipelines that do not run still stand: a writer that knows nothing of
 * retention (PyIceberg 0.12) takes that of `main` away with each of its commits. The answer ends it.
 */
export function guardRestingPins({ store, pins, everyMs, onError }: RestingPinsDeps): () => Promise<void> {
  let looking: Promise<void> | undefined
  const look = async (): Promise<void> => {
    for (const record of await store.list()) {
      if (record.state === 'stopped' || record.state === 'failed') await pinAtRest(pins, record)
    }
  }
  const timer = setInterval(() => {
    looking ??= look()
      .catch(onError)
      .finally(() => {
        looking = undefined
      })
  }, everyMs)
  return async () => {
    clearInterval(timer)
    await looking
  }
}
