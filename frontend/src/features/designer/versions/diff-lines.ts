import type { VersionDiff } from '../../../api/types.ts'
import type { Mark } from '../../../components/graph/diff-drawing.ts'

/** One line of a comparison; `path` is a JSON pointer inside the node or edge. */
export interface DiffLine {
  readonly mark: Exclude<Mark, 'same'>
  readonly kind: 'node' | 'edge'
  readonly id: string
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** A comparison as a list: what was added, removed, changed, and what only moved. */
export function diffLines(diff: VersionDiff): DiffLine[] {
  const part = (kind: DiffLine['kind'], { added, removed, changed }: VersionDiff['nodes'] | VersionDiff['edges']) => [
    ...added.map((item): DiffLine => ({ mark: 'added', kind, id: item.id, path: '', to: item })),
    ...removed.map((item): DiffLine => ({ mark: 'removed', kind, id: item.id, path: '', from: item })),
    ...changed.flatMap(({ id, changes }) =>
      changes.map(({ path, from, to }): DiffLine => ({ mark: 'changed', kind, id, path, from, to })),
    ),
  ]
  const moves = diff.moves.map(({ id, from, to }): DiffLine => ({
    mark: 'moved',
    kind: 'node',
    id,
    path: '/position',
    from,
    to,
  }))
  return [...part('node', diff.nodes), ...part('edge', diff.edges), ...moves]
}
