import type { Version, VersionDiff } from '../../api/types.ts'

export interface DiffCounts {
  readonly added: number
  readonly removed: number
  readonly changed: number
  readonly moved: number
}

/** How many nodes and edges a diff names. */
export function countsOf({ nodes, edges, moves }: VersionDiff): DiffCounts {
  return {
    added: nodes.added.length + edges.added.length,
    removed: nodes.removed.length + edges.removed.length,
    changed: nodes.changed.length + edges.changed.length,
    moved: moves.length,
  }
}

/** Whether anything but places on the canvas differs. */
export function changesMeaning(diff: VersionDiff): boolean {
  const { added, removed, changed } = countsOf(diff)
  return added + removed + changed > 0
}

/** The diff of a version where nothing of its definition is: all of it is new. */
export function diffAgainstNothing({ nodes, edges, ...version }: Version): VersionDiff {
  const { id, version: number, environment, content_hash: hash } = version
  return {
    from: null,
    to: { id, version: number, environment, content_hash: hash },
    identical: false,
    nodes: { added: nodes, removed: [], changed: [] },
    edges: { added: edges, removed: [], changed: [] },
    moves: [],
  }
}
