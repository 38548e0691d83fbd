import { parseAvroSchema } from './avro-schema-parser.ts'
import type { AvroSchema } from './avro-schema.ts'

/** A table has few: one of its manifest lists, and one of its manifests for each spec and writer. */
const MAX_SCHEMAS = 64
/** A longer one is parsed each time, so that the schemas together take little memory. */
const MAX_CHARACTERS = 64 * 1024

const known = new Map<string, AvroSchema>()

/** The same as `parseAvroSchema`; the manifests of a table have the same schema, which is parsed once for all of them. */
export function readAvroSchema(bytes: Uint8Array): AvroSchema {
  if (bytes.length > MAX_CHARACTERS) return parseAvroSchema(bytes)
  const text = new TextDecoder().decode(bytes)
  const found = known.get(text)
  if (found !== undefined) return found
  const schema = parseAvroSchema(bytes)
  if (known.size >= MAX_SCHEMAS) known.clear()
  known.set(text, schema)
  return schema
}
