import { mapBounded } from '../../../lib/bounded-map.ts'
import { walkFields } from '../../../iceberg/schema/schema.ts'
import type { NestedField } from '../../../iceberg/schema/types.ts'

import { needsRecoding } from '../recode/leaf-change.ts'
import { pageCodec } from '../recode/page-codec.ts'
import type { PageCodec } from '../recode/page-codec.ts'
import { recodeFile } from '../recode/recode-file.ts'
import { codecLevel, codecNumber } from './codec.ts'
import type { FileStatistics } from './file-metrics.ts'
import { leafColumns } from './output-layout.ts'

interface Recoded {
  readonly fields: readonly NestedField[]
  readonly properties: Readonly<Record<string, string>>
  readonly check: () => void
}

interface WrittenFile extends FileStatistics {
  readonly path: string
  readonly sizeBytes: number
}

/** Files of which pages are in memory at the same time. */
const FILES_AT_ONCE = 2

/**
 * Brings files of the engine into the form that their table asks for, where the runtime has their codec; otherwise columns stay optional and
 * wide decimals wide, which all readers accept.
 */
export async function recodeFiles<F extends WrittenFile>(
  files: readonly F[],
  { fields, properties, check }: Recoded,
): Promise<readonly F[]> {
  const codec = recodingCodec(properties)
  if (codec === undefined || !needsRecoding(fields)) return files
  const leaves = leafColumns(fields)
  return mapBounded(files, FILES_AT_ONCE, async (file) => {
    const sizes = await recodeFile(file.path, fields, { codec, check })
    if (sizes === undefined) return file
    const columns = new Map(file.columns)
    for (const [at, { statisticsKey }] of leaves.entries()) {
      const statistics = columns.get(statisticsKey)
      if (statistics === undefined) continue
      columns.set(statisticsKey, new Map([...statistics, ['column_size_bytes', String(sizes.leafBytes[at] ?? 0)]]))
    }
    return { ...file, sizeBytes: sizes.sizeBytes, columns }
  })
}

/** The codec of a table's files, if their pages can be written again here. */
function recodingCodec(properties: Readonly<Record<string, string>>): PageCodec | undefined {
  return pageCodec(codecNumber(properties), codecLevel(properties))
}

/** Whether pages must have plain values or dictionaries, because they are written again with values of another length. */
export function requiresPlainValues(fields: readonly NestedField[]): boolean {
  return [...walkFields({ fields })].some(({ field }) => field.type.kind === 'fixed' || isWideDecimal(field))
}

function isWideDecimal({ type }: NestedField): boolean {
  return type.kind === 'decimal' && type.precision > 18
}
