import { IcebergError } from '../../iceberg/errors.ts'

import type { StageContext } from './scan-inputs.ts'

/** Stages Avro files. */
export async function stageAvroFiles(
  _context: StageContext,
  { locations }: { readonly locations: readonly string[]; readonly prefix: string },
): Promise<ReadonlyMap<string, string>> {
  const [first] = locations
  if (first !== undefined) throw new IcebergError('UNSUPPORTED', `${first} is in format avro; the embedded engine reads parquet`)
  return new Map()
}
