import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

import { IcebergError } from '../../../iceberg/errors.ts'

import { PHYSICAL } from './footer.ts'
import type { ParquetFooter, ParquetNode } from './footer.ts'

const COPY_CHUNK = 8 * 1_048_576
/** Header of field 2 (`type_length`) behind field 1, and the value 12, in Thrift's compact protocol. */
const TYPE_LENGTH = [0x15, 24]
const ONE_ID = 0x10
const MAGIC = 'PAR1'

/** Whether a file has columns of type INT96. */
export function hasInt96({ root }: Pick<ParquetFooter, 'root'>): boolean {
  return int96Leaves(root).length > 0
}

/** The leaves of type INT96 below a node. */
export function int96Leaves(node: ParquetNode): readonly ParquetNode[] {
  if (node.physical === PHYSICAL.INT96) return [node]
  return node.children.flatMap(int96Leaves)
}

/**
 * Writes a file that has the INT96 columns of another as 12 bytes each, so that the engine returns the bytes instead of
 * timestamps. Only the pages of the columns with such values are copied, to the same offsets; the rest is a hole.
 */
export async function writeInt96AsBytes(source: string, footer: ParquetFooter, target: string): Promise<void> {
  const input = await open(source, 'r')
  try {
    const output = await open(target, 'wx')
    try {
      await output.write(MAGIC, 0)
      for (const { start, size } of neededChunks(footer)) await copyRange(input, output, { start, size })
      const bytes = patched(footer)
      const end = new Uint8Array(8)
      new DataView(end.buffer).setUint32(0, bytes.length, true)
      end.set(new TextEncoder().encode(MAGIC), 4)
      await output.write(Buffer.concat([bytes, end]), 0, undefined, footer.fileSize)
    } finally {
      await output.close()
    }
  } finally {
    await input.close()
  }
}

function neededChunks({
  root,
  rowGroups,
}: ParquetFooter): readonly { readonly start: number; readonly size: number }[] {
  const leaves = root.children.filter((column) => int96Leaves(column).length > 0).flatMap(leavesOf)
  return rowGroups.flatMap((chunks) => leaves.flatMap((leaf) => chunks[leaf] ?? []))
}

function leavesOf(node: ParquetNode): readonly number[] {
  return node.leaf === undefined ? node.children.flatMap(leavesOf) : [node.leaf]
}

async function copyRange(
  input: FileHandle,
  output: FileHandle,
  { start, size }: { readonly start: number; readonly size: number },
): Promise<void> {
  const buffer = new Uint8Array(Math.min(COPY_CHUNK, size))
  for (let done = 0; done < size;) {
    const { bytesRead } = await input.read(buffer, 0, Math.min(buffer.length, size - done), start + done)
    if (bytesRead === 0) return
    await output.write(buffer, 0, bytesRead, start + done)
    done += bytesRead
  }
}

/** The footer with FIXED_LEN_BYTE_ARRAY(12) instead of INT96: both have the same pages. */
function patched({ root, rowGroups, bytes }: ParquetFooter): Uint8Array {
  const copy = Uint8Array.from(bytes)
  const leaves = int96Leaves(root)
  const parts: Uint8Array[] = []
  let from = 0
  for (const { typeAt } of leaves) {
    const next = copy[typeAt + 1] ?? 0
    // the length is the field behind the type, so the following field's distance shrinks by one
    if (next >> 4 < 2) throw new IcebergError('UNSUPPORTED', 'an INT96 column with a length cannot be checked')
    copy[typeAt] = PHYSICAL.FIXED_LEN_BYTE_ARRAY * 2
    copy[typeAt + 1] = next - ONE_ID
    parts.push(copy.subarray(from, typeAt + 1), Uint8Array.from(TYPE_LENGTH))
    from = typeAt + 1
  }
  for (const { leaf } of leaves) {
    for (const chunks of rowGroups) {
      const chunk = chunks[leaf ?? -1]
      if (chunk !== undefined) copy[chunk.typeAt] = PHYSICAL.FIXED_LEN_BYTE_ARRAY * 2
    }
  }
  parts.push(copy.subarray(from))
  return Uint8Array.from(Buffer.concat(parts))
}
