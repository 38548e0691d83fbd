// The thread that decodes manifests; started by `decode-pool.ts`.
import { parentPort } from 'node:worker_threads'

import { isIcebergError } from '../../../iceberg/errors.ts'
import { readManifestTotals } from '../../../iceberg/manifest/totals.ts'
import type { DecodeReply, DecodeRequest } from './decode-messages.ts'

parentPort?.on('message', (request: DecodeRequest) => {
  const reply = answer(request)
  parentPort?.postMessage(reply, 'totals' in reply ? buffersOf(reply) : [])
})

function answer({ id, bytes, manifest, partitioning }: DecodeRequest): DecodeReply {
  try {
    return { id, totals: readManifestTotals(bytes, { manifest, partitioning }) }
  } catch (error) {
    if (isIcebergError(error)) return { id, code: error.code, message: error.message }
    return { id, failed: String(error) }
  }
}

function buffersOf({ totals }: Extract<DecodeReply, { totals: unknown }>): ArrayBuffer[] {
  const { sizes, partitionIndexes, records, smallestRowGroups } = totals
  return [sizes, partitionIndexes, records, smallestRowGroups].map(({ buffer }) => buffer as ArrayBuffer)
}
