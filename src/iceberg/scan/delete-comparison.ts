import type { DataFile } from '../manifest/manifest.ts'
import type { DeleteFileRef } from './delete-index.ts'
import { fileKey } from './file-scope.ts'

/** How a list of delete files differs from an earlier one. */
export interface DeleteListChange {
  readonly added: readonly DeleteFileRef[]
  readonly removed: readonly DeleteFileRef[]
}

const NO_CHANGE: DeleteListChange = { added: [], removed: [] }

/**
 * Compares lists of the deletes that apply to data files, by {@link fileKey}. Thousands of data files share a list of thousands of
 * deletes (see `DeleteIndex`), so a pair of lists is compared once, and no set of keys is kept.
 */
export class DeleteComparison {
  readonly #content: DataFile['content']
  readonly #keys = new Map<DataFile, string>()
  /** By earlier list, the last list that it was compared with. */
  readonly #known = new Map<readonly DeleteFileRef[], { now: readonly DeleteFileRef[]; change: DeleteListChange }>()

  /** `content`: the only delete files that are compared. */
  constructor(content: 'position-deletes' | 'equality-deletes') {
    this.#content = content
  }

  /** The delete files of one list that the other does not have, in their order. */
  compare(before: readonly DeleteFileRef[], now: readonly DeleteFileRef[]): DeleteListChange {
    if (before === now) return NO_CHANGE
    const known = this.#known.get(before)
    if (known?.now === now) return known.change
    const change = this.#difference(this.#select(before), this.#select(now))
    this.#known.set(before, { now, change })
    return change
  }

  #difference(before: readonly DeleteFileRef[], now: readonly DeleteFileRef[]): DeleteListChange {
    if (before.length === now.length && before.every((ref, at) => this.#isSame(ref, now[at]))) return NO_CHANGE
    return { added: this.#without(now, before), removed: this.#without(before, now) }
  }

  #without(refs: readonly DeleteFileRef[], others: readonly DeleteFileRef[]): readonly DeleteFileRef[] {
    if (refs.length === 0) return []
    const keys = new Set(others.map(({ file }) => this.#keyOf(file)))
    return refs.filter(({ file }) => !keys.has(this.#keyOf(file)))
  }

  #isSame(one: DeleteFileRef, other: DeleteFileRef | undefined): boolean {
    return other !== undefined && (one.file === other.file || this.#keyOf(one.file) === this.#keyOf(other.file))
  }

  #select(refs: readonly DeleteFileRef[]): readonly DeleteFileRef[] {
    return refs.filter(({ file }) => file.content === this.#content)
  }

  #keyOf(file: DataFile): string {
    const known = this.#keys.get(file)
    if (known !== undefined) return known
    const key = fileKey(file)
    this.#keys.set(file, key)
    return key
  }
}
