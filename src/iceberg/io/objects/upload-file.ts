import { open } from 'node:fs/promises'
import { IcebergError } from '../../errors.ts'
import { attempt } from '../io-error.ts'
import { assertRange } from '../read-range.ts'
import type { ObjectStore, PartUpload, StoredObject } from './object-store.ts'
import { exclusively, repeated } from './repeat-request.ts'

const MAX_PARTS = 10_000
/** Google accepts parts of multiples of this size only. */
export const PART_UNIT_BYTES = 262_144

/** A local file and the object that is made from it. */
export interface FileUpload {
  readonly localPath: string
  readonly location: string
  readonly object: StoredObject
  /** Size of the file in bytes. */
  readonly size: number
  readonly partBytes: number
  /** The size of the object, undefined if there is none. */
  readonly sizeOf: () => Promise<number | undefined>
}

/** Uploads a file in parts. `FILE_EXISTS` if the object exists. After another failure, the parts are discarded. */
export async function uploadFile(store: ObjectStore, file: FileUpload): Promise<void> {
  const { location, object, size, sizeOf } = file
  if ((await sizeOf()) !== undefined) {
    throw new IcebergError('FILE_EXISTS', `The file ${location} already exists.`)
  }
  const upload = await repeated(store, { action: 'write', location }, () => store.beginUpload(object))
  try {
    await uploadParts(store, upload, file)
    await exclusively(store, { location, send: () => upload.finish(), isOurs: async () => (await sizeOf()) === size })
  } catch (error) {
    await upload.abort().catch(() => undefined)
    throw error
  }
}

async function uploadParts(store: ObjectStore, upload: PartUpload, file: FileUpload): Promise<void> {
  const { localPath, location, size } = file
  const least = Math.ceil(size / MAX_PARTS)
  const partBytes = least <= file.partBytes ? file.partBytes : Math.ceil(least / PART_UNIT_BYTES) * PART_UNIT_BYTES
  const source = await attempt({ action: 'read', location: localPath }, open(localPath, 'r'))
  try {
    for (let offset = 0, number = 1; offset < size; offset += partBytes, number += 1) {
      const bytes = new Uint8Array(Math.min(partBytes, size - offset))
      const { bytesRead } = await source.read(bytes, 0, bytes.length, offset)
      assertRange({ location: localPath, offset, length: bytes.length }, offset + bytesRead)
      await repeated(store, { action: 'write', location }, () => upload.put(number, bytes))
    }
  } finally {
    await source.close()
  }
}
