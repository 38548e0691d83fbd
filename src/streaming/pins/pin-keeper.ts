import type { Catalog } from '../../catalog/catalog.ts'
import { parseIdentifier } from '../../catalog/table-identifier.ts'
import { isIcebergError } from '../../iceberg/errors.ts'
import { snapshotById } from '../../iceberg/metadata/metadata.ts'
import type { TableMetadata } from '../../iceberg/metadata/metadata.ts'
import { isHeld, pinHistory, pinnedSnapshot, unpinHistory } from './retention-pin.ts'
import type { ReadPosition } from '../source/history.ts'
import { isStart } from '../source/offset.ts'
import type { TableWatch } from '../source/table-watch.ts'

/** How a pipeline stands to its sources. */
export interface PinState {
  readonly pipelineId: string
  readonly sources: readonly string[]
  readonly positions: readonly ReadPosition[]
  /** Whether what it has not read must be kept from other engines' expiry. */
  readonly mustHold: boolean
  /** Whether nothing will be read for a while, so that the pin should stand exactly where reading will go on. */
  readonly isIdle?: boolean
}

/** Keeps the retention of sources as their pipelines need it. */
export interface PinKeeper {
  /** Sets, moves or removes pins; what cannot be written is logged, and tried again the next time. */
  keep(state: PinState): Promise<void>
  /** Removes all pins of a pipeline. */
  release(pipelineId: string, sources: readonly string[]): Promise<void>
}

export interface PinKeeperDeps {
  readonly catalog: () => Catalog
  readonly tables: TableWatch
  readonly nowMs: () => number
  /** Called once per source and kind of error. */
  readonly onError: (pipelineId: string, error: unknown) => void
}

/** Moving the tag of a reading pipeline is a commit, so it is moved rarely. */
const MOVE_EVERY_MS = 600_000

/** A keeper that stores the pins in the tables' metadata, which every engine obeys. */
export function createPinKeeper(deps: PinKeeperDeps): PinKeeper {
  const movedAt = new Map<string, number>()
  const reportedErrors = new Map<string, string>()

  async function keepOne(
    { pipelineId, positions, isIdle = false }: PinState,
    source: string,
    at: number,
  ): Promise<void> {
    const identifier = parseIdentifier(source)
    const { metadata } = await deps.tables.current(identifier)
    const wanted = snapshotToPin(metadata, positions[at])
    if (wanted === undefined) return
    const key = `${pipelineId} ${source}`
    const isThere = isHeld(metadata, pipelineId)
    if (isThere && pinnedSnapshot(metadata, pipelineId) === wanted) return
    if (isThere && !isIdle && deps.nowMs() - (movedAt.get(key) ?? 0) < MOVE_EVERY_MS) return
    await pinHistory(deps.catalog(), identifier, { pipelineId, snapshotId: wanted })
    movedAt.set(key, deps.nowMs())
  }

  async function releaseOne(pipelineId: string, source: string): Promise<void> {
    const identifier = parseIdentifier(source)
    movedAt.delete(`${pipelineId} ${source}`)
    const { metadata } = await deps.tables.current(identifier)
    if (pinnedSnapshot(metadata, pipelineId) === undefined) return
    await unpinHistory(deps.catalog(), identifier, pipelineId)
  }

  async function each(
    pipelineId: string,
    sources: readonly string[],
    work: (source: string, at: number) => Promise<void>,
  ) {
    for (const [at, source] of sources.entries()) {
      const key = `${pipelineId} ${source}`
      try {
        await work(source, at)
        reportedErrors.delete(key)
      } catch (error) {
        const kind = isIcebergError(error) ? error.code : String(error)
        if (reportedErrors.get(key) !== kind) deps.onError(pipelineId, error)
        reportedErrors.set(key, kind)
      }
    }
  }

  return {
    keep: (state) =>
      each(state.pipelineId, state.sources, (source, at) =>
        state.mustHold ? keepOne(state, source, at) : releaseOne(state.pipelineId, source),
      ),
    release: (pipelineId, sources) => each(pipelineId, sources, (source) => releaseOne(pipelineId, source)),
  }
}

/** The snapshot of a position, or the current one if that snapshot is gone; undefined for a table that cannot be pinned. */
function snapshotToPin(metadata: TableMetadata, position: ReadPosition | undefined): bigint | undefined {
  const { currentSnapshotId, formatVersion } = metadata
  if (currentSnapshotId === undefined || formatVersion === 1) return undefined
  if (position === undefined || isStart(position.offset)) return currentSnapshotId
  const { snapshotId } = position.offset
  return snapshotById(metadata, snapshotId) === undefined ? currentSnapshotId : snapshotId
}
