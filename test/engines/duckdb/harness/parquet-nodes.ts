import { CONVERTED } from './parquet-writer.ts'
import type { ParquetNode } from './parquet-writer.ts'

/** An optional column `id` of 64 bits with field id 1. */
export const ID: ParquetNode = { name: 'id', repetition: 'optional', id: 1, physical: 'INT64' }

/** A leaf of 32 bits. */
export function leaf(name: string, id?: number, repetition: ParquetNode['repetition'] = 'optional'): ParquetNode {
  return { name, repetition, ...(id === undefined ? {} : { id }) }
}

/** A required text. */
export function text(name: string, id?: number): ParquetNode {
  return { ...leaf(name, id, 'required'), physical: 'BYTE_ARRAY', converted: CONVERTED.UTF8 }
}

/** An optional group. */
export function group(
  name: string,
  id: number | undefined,
  children: readonly ParquetNode[],
  converted?: number,
): ParquetNode {
  return { ...leaf(name, id), children, ...(converted === undefined ? {} : { converted }) }
}

/** A repeated group. */
export function repeated(name: string, id: number | undefined, ...children: readonly ParquetNode[]): ParquetNode {
  return { ...group(name, id, children), repetition: 'repeated' }
}

/** An optional group that is annotated as a list. */
export const listOf = (name: string, id: number | undefined, node: ParquetNode): ParquetNode =>
  group(name, id, [node], CONVERTED.LIST)
/** An optional group that is annotated as a map. */
export const mapOf = (name: string, id: number | undefined, node: ParquetNode): ParquetNode =>
  group(name, id, [node], CONVERTED.MAP)
