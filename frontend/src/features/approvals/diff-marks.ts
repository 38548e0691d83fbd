import type { Version, VersionDiff } from '../../api/types.ts'

/** What a diff says of one node or edge. */
export type Mark = 'added' | 'removed' | 'changed' | 'same'

export interface DiffMarks {
  readonly nodes: ReadonlyMap<string, Mark>
  readonly edges: ReadonlyMap<string, Mark>
}

export interface DiffCounts {
  readonly added: number
  readonly removed: number
  readonly changed: number
  readonly moved: number
}

/** The mark of each node and edge that a diff names, by id; what is not there is the same on both sides. */
export function marksOf(diff: VersionDiff): DiffMarks {
  return { nodes: marks(diff.nodes), edges: marks(diff.edges) }
}

function marks(part: VersionDiff['nodes'] | VersionDiff['edges']): ReadonlyMap<string, Mark> {
  const entries = (items: readonly { readonly id: string }[], mark: Mark) => items.map(({ id }) => [id, mark] as const)
  return new Map([
    ...entries(part.removed, 'removed'),
    ...entries(part.added, 'added'),
    ...entries(part.changed, 'changed'),
  ])
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
