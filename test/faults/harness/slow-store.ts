import { existsSync, writeFileSync } from 'node:fs'
import { LocalFileIO } from '../../../src/iceberg/io/local.ts'
import { sleep } from '../../support/waiting.ts'

/** The files by which a test and a service with a slow store talk to each other. */
export function slowStoreFiles(marker: string) {
  return {
    /** Makes the store slow from now on; removed by nobody. */
    slow: `${marker}.slow`,
    /** There is a metadata file whose write does not end. */
    writing: `${marker}.writing`,
    /** Lets the write end. */
    go: `${marker}.go`,
    /** The write has ended. */
    written: `${marker}.written`,
  }
}

const LOOK_MS = 20

/**
 * Makes the files of this machine as slow as a store behind a bad network may be: once the test asks for it, the first
 * metadata file is written only when the test lets the write end.
 */
export function slowDownStore(marker: string | undefined): void {
  if (marker === undefined) return
  const files = slowStoreFiles(marker)
  const { create } = LocalFileIO.prototype
  LocalFileIO.prototype.create = async function createSlowly(location: string, bytes: Uint8Array): Promise<void> {
    if (!location.endsWith('.metadata.json') || !existsSync(files.slow) || existsSync(files.writing)) {
      return create.call(this, location, bytes)
    }
    writeFileSync(files.writing, location)
    while (!existsSync(files.go)) await sleep(LOOK_MS)
    await create.call(this, location, bytes).finally(() => writeFileSync(files.written, location))
  }
}
