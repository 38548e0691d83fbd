import { IcebergError } from '../../../iceberg/errors.ts'

import { PHYSICAL } from './footer.ts'
import type { ParquetFooter } from './footer.ts'

/** Codecs that the engine decompresses, by their numbers in parquet.thrift. */
const CODECS: ReadonlySet<number> = new Set([0, 1, 2, 4, 6, 7])
/** Names of the others, for messages. */
const OTHER_CODECS: Readonly<Record<number, string>> = { 3: 'LZO', 5: 'LZ4 (the Hadoop form)' }

/** Refuses a file whose pages the engine cannot decompress; `UNSUPPORTED` names the file and the codec. */
export function requireCodecs({ rowGroups }: ParquetFooter, location: string): void {
  for (const chunks of rowGroups) {
    for (const { codec } of chunks) {
      if (CODECS.has(codec)) continue
      throw new IcebergError(
        'UNSUPPORTED',
        `${location} is compressed with ${OTHER_CODECS[codec] ?? `codec ${codec}`}, which the embedded engine cannot read; ` +
          `rewrite the file with another engine`,
      )
    }
  }
}

/** Refuses a file with an encoding that the engine reads only for other types; `UNSUPPORTED` names the file and the encoding. */
export function requireEncodings({ rowGroups }: ParquetFooter, location: string): void {
  for (const chunks of rowGroups) {
    for (const { isByteStreamSplit, physical } of chunks) {
      if (!isByteStreamSplit || physical === PHYSICAL.FLOAT || physical === PHYSICAL.DOUBLE) continue
      throw new IcebergError(
        'UNSUPPORTED',
        `${location} has a column with the encoding BYTE_STREAM_SPLIT that is neither float nor double, which the embedded engine ` +
          `cannot read; rewrite the file with another engine`,
      )
    }
  }
}
