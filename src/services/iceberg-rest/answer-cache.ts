import { LRUCache } from 'lru-cache'
import { isSameFile } from '../../catalog/file-state.ts'
import type { FileStatus } from '../../iceberg/io/file-io.ts'

interface KeptAnswer {
  readonly json: string
  readonly file: FileStatus
}

const MAX_CHARACTERS = 32 * 2 ** 20
/** Longer answers are rare, and would push out many others. */
const MAX_ANSWER = 8 * 2 ** 20

/**
 * The last answers with whole tables, by entity tag, which stands for one metadata file. Such files never change; if
 * one was replaced all the same, the state of the file tells.
 */
export class AnswerCache {
  readonly #answers = new LRUCache<string, KeptAnswer>({
    maxSize: MAX_CHARACTERS,
    maxEntrySize: MAX_ANSWER,
    sizeCalculation: ({ json }) => json.length,
  })

  /** Undefined without `file`, the metadata file as it is now. */
  find(entityTag: string, file: FileStatus | undefined): string | undefined {
    const kept = this.#answers.get(entityTag)
    return kept !== undefined && isSameFile(file, kept.file) ? kept.json : undefined
  }

  /** `file`: the metadata file as it was before it was read. */
  keep(entityTag: string, file: FileStatus | undefined, json: string): void {
    if (file !== undefined) this.#answers.set(entityTag, { json, file })
  }
}
