import { type Loop, startLoop } from '../../lib/start-loop.ts'
import type { PipelineRecord, PipelineStore } from '../../storage/stores/pipelines/pipeline-store.ts'
import type { PinKeeper } from './pin-keeper.ts'
import { canReadOn } from '../pipeline-errors.ts'
import { fromStoredPosition } from '../checkpoint/stored-positions.ts'

export interface ReassertPinsDeps {
  readonly store: Pick<PipelineStore, 'list'>
  readonly pins: PinKeeper
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** Pins a source for a pipeline that does not run, exactly where reading resumes; if it cannot resume, removes the pin. */
export async function pinIdle(
  pins: PinKeeper | undefined,
  { id, sources, error, positions = [] }: PipelineRecord,
): Promise<void> {
  await pins?.keep({
    pipelineId: id,
    sources,
    positions: positions.map(fromStoredPosition),
    mustHold: canReadOn(error?.code),
    isIdle: true,
  })
}

/** Pins the sources of a pipeline that is about to read older snapshots, before its first batch waits for its turn. */
export async function pinStart(pins: PinKeeper | undefined, record: PipelineRecord): Promise<void> {
  if (record.options.start !== undefined && record.progress === undefined) await pinIdle(pins, record)
}

/**
 * Regularly restores missing pins of pipelines that do not run: a writer that ignores retention (PyIceberg 0.12) resets
 * that of `main` with each of its commits.
 */
export function reassertPins({ store, pins, everyMs, onError }: ReassertPinsDeps): Loop {
  return startLoop({
    everyMs,
    firstMs: everyMs,
    async tick() {
      for (const record of await store.list()) {
        if (record.state === 'stopped' || record.state === 'failed') await pinIdle(pins, record)
      }
    },
    onError,
  })
}
