import type { Catalog } from '../../src/catalog/catalog.ts'

/** A catalog whose commits throw after they are applied, while `error` is set. */
export interface FaultyCatalog {
  readonly catalog: Catalog
  error: Error | undefined
  /** Number of commits that were applied and threw. */
  thrown: number
}

/**
 * Wraps a catalog so that its commits can throw right after the pointer has moved, as a defect in its own code
 * would.
 */
export function throwAfterCommit(inner: Catalog): FaultyCatalog {
  const commit: Catalog['commit'] = async (identifier, request) => {
    const outcome = await inner.commit(identifier, request)
    if (faulty.error === undefined) return outcome
    faulty.thrown += 1
    throw faulty.error
  }
  const catalog = new Proxy(inner, {
    get: (target, key: keyof Catalog) => {
      const member = key === 'commit' ? commit : target[key]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const faulty: FaultyCatalog = { catalog, error: undefined, thrown: 0 }
  return faulty
}
