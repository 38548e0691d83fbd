import { IcebergError } from '../../../iceberg/errors.ts'

const CODEC_PROPERTY = 'write.parquet.compression-codec'
const LEVEL_PROPERTY = 'write.parquet.compression-level'

/** Iceberg's names of codecs, with DuckDB's and their numbers in parquet.thrift. */
const CODECS: Readonly<Record<string, { readonly name: string; readonly number: number }>> = {
  zstd: { name: 'zstd', number: 6 },
  gzip: { name: 'gzip', number: 2 },
  snappy: { name: 'snappy', number: 1 },
  lz4: { name: 'lz4_raw', number: 7 },
  lz4_raw: { name: 'lz4_raw', number: 7 },
  brotli: { name: 'brotli', number: 4 },
  uncompressed: { name: 'uncompressed', number: 0 },
  none: { name: 'uncompressed', number: 0 },
}

type Properties = Readonly<Record<string, string>>

/** Options of COPY for the codec and level that table properties ask for. `UNSUPPORTED` for a codec that the engine does not write. */
export function codecOptions(properties: Properties): readonly string[] {
  const { name } = codecOf(properties)
  if (name !== 'zstd') return [`COMPRESSION ${name}`]
  return [`COMPRESSION ${name}`, `COMPRESSION_LEVEL ${codecLevel(properties)}`]
}

/** The level of Zstandard that table properties ask for; other codecs have none. */
export function codecLevel(properties: Properties): number {
  const level = Number(properties[LEVEL_PROPERTY] ?? 1)
  return Number.isInteger(level) && level >= 1 && level <= 22 ? level : 1
}

/** The number in parquet.thrift of the codec that table properties ask for. `UNSUPPORTED` as {@link codecOptions}. */
export function codecNumber(properties: Properties): number {
  return codecOf(properties).number
}

function codecOf(properties: Properties): { readonly name: string; readonly number: number } {
  const name = properties[CODEC_PROPERTY]?.toLowerCase() ?? 'zstd'
  const codec = CODECS[name]
  if (codec !== undefined) return codec
  throw new IcebergError(
    'UNSUPPORTED',
    `table property ${CODEC_PROPERTY} is ${name}; the embedded engine writes ${Object.keys(CODECS).join(', ')}`,
  )
}
