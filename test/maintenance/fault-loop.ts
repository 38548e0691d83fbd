import { expect } from 'vitest'
import { isIcebergError } from '../../src/iceberg/errors.ts'
import { findUnreachable } from '../../src/maintenance/reachable-files.ts'
import { everyNth } from '../support/effort.ts'
import { ModelLake } from './compaction/model-lake.ts'
import { Faults } from './faults.ts'
import type { Workshop } from './real-lake.ts'

/** Deletions may leave orphan files behind, so they do not fail here. */
const FILE_CALLS = ['read', 'readRange', 'create', 'write', 'stat', 'moveIn']
const CATALOG_CALLS = ['loadTable', 'locateTable', 'commit']

export interface FaultLoop {
  readonly shop: Workshop
  readonly formatVersion: 2 | 3
  /** A run that is not whole fails only each n-th call, see {@link everyNth}. */
  readonly step: number
  /** Makes the table; `random` returns a number below its argument. */
  readonly prepare: (lake: ModelLake, random: (below: number) => number) => Promise<void>
  /** The operation, with the prefix `op-` in the names of its files. */
  readonly operate: (lake: ModelLake, faults: Faults) => Promise<void>
}

/**
 * Fails the first call of files, catalog or engine, then the second one of a new table, and so on until no call fails. Each time the
 * rows must be those of the model, and no file of the operation may be left behind, unless the outcome of the commit is unknown.
 * Returns how often the operation failed.
 */
export async function failEachCall({ shop, formatVersion, step, prepare, operate }: FaultLoop): Promise<number> {
  let failed = 0
  for (let failing = 1; ; failing += everyNth(step)) {
    const faults = new Faults()
    const lake = await ModelLake.create(shop, {
      formatVersion,
      wrapIo: (io) => faults.wrap(io, FILE_CALLS),
      wrapCatalog: (catalog) => faults.wrap(catalog, CATALOG_CALLS),
    })
    await prepare(lake, (below) => (failing * 7) % below)
    const { hit, error } = await faults.run(failing, () => operate(lake, faults))
    const hint = `call ${failing} failed`
    expect(await lake.differences(), hint).toEqual([])
    if (!isIcebergError(error, 'COMMIT_STATE_UNKNOWN')) {
      const ours = (await lake.list()).filter((file) => file.includes('/op-'))
      expect(await findUnreachable(await lake.load(), ours), hint).toEqual([])
    }
    if (!hit) {
      expect(error).toBeUndefined()
      return failed
    }
    if (error !== undefined) failed += 1
  }
}
