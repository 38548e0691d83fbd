import {
  encodeStruct,
  integerField,
  readInteger,
  readStored,
  readStructs,
  structList,
} from '../parquet/compact-struct.ts'
import { NotCopyableError } from '../parquet/not-copyable-error.ts'
import type { WalkedPage } from './page-walk.ts'

/**
 * An offset index (parquet.thrift, `OffsetIndex`) for pages that moved to `start` of a new file. {@link NotCopyableError} if the index is
 * not about the pages that the chunk really has.
 */
export function movedOffsetIndex(
  bytes: Uint8Array,
  chunk: { readonly pages: readonly WalkedPage[]; readonly from: number; readonly to: number },
  location: string,
): Uint8Array {
  const index = readStored(bytes, location)
  const unknown = [...index.keys()].find((id) => id !== 1 && id !== 2)
  if (unknown !== undefined)
    throw new NotCopyableError(`a page index has the field ${unknown}, which is not known here`)
  const locations = readStructs(index.get(1), location)
  if (locations.length !== chunk.pages.length) throw new NotCopyableError('a page index has another number of pages')
  const moved = locations.map((stored, at) => {
    const page = readStored(stored, location)
    const walked = chunk.pages[at]
    const isRight =
      readInteger(page.get(1), location) === chunk.from + (walked?.at ?? 0) &&
      readInteger(page.get(2), location) === walked?.size
    if (!isRight) throw new NotCopyableError('a page index names other pages than those of the column')
    return encodeStruct(new Map([...page, [1, integerField(chunk.to + (walked?.at ?? 0))]]))
  })
  return encodeStruct(new Map([...index, [1, structList(moved)]]))
}
