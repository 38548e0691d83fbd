import { Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { GraphEdge, GraphNode, VersionDiff } from '../../api/types.ts'
import { DiffView } from '../../components/graph/diff-view.tsx'
import { modeOf } from '../../components/graph/node-summary.ts'
import { JsonDiff } from '../../components/text/json-diff.tsx'
import { graphStrings } from '../../strings/everywhere/graph.ts'
import { approvalStrings } from '../../strings/approvals.ts'
import { changesMeaning, countsOf } from './diff-counts.ts'
import type { RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.change

interface ChangeSectionProps {
  readonly view: RequestView
  readonly selected: string | undefined
  readonly onSelect: (id: string | undefined) => void
}

/** What a request changes in its target environment: in one line, as a drawing, and as a list. */
export function ChangeSection({ view, selected, onSelect }: ChangeSectionProps) {
  const { diff, snapshot } = view
  return (
    <section className={classes.section} aria-labelledby="approval-change">
      <Title order={2} id="approval-change">
        {approvalStrings.sections.change}
      </Title>
      <Text size="sm">{againstWhat(view)}</Text>
      <div className={classes.graph}>
        <DiffView diff={drawnDiff(diff)} newer={snapshot} selectedId={selected} onSelect={onSelect} embedded />
      </div>
      {diff.from === null ? undefined : <ChangeList diff={diff} />}
      <Moves diff={diff} />
    </section>
  )
}

/** The first version in an environment is all new: it is drawn without marks. */
function drawnDiff(diff: VersionDiff): VersionDiff {
  if (diff.from !== null) return diff
  const none = { added: [], removed: [], changed: [] }
  return { ...diff, nodes: none, edges: none, moves: [] }
}

const MARKED = ['added', 'removed', 'changed'] as const

function againstWhat({ diff, to_environment: to, status }: RequestView): string {
  if (diff.from === null) return strings.first(to)
  if (diff.identical) return strings.identical(diff.from.version, to)
  const against = status === 'pending' ? strings.against : strings.againstThen
  const counts = countsOf(diff)
  const named = MARKED.filter((mark) => counts[mark] > 0).map((mark) => strings.counts[mark](counts[mark]))
  const what = changesMeaning(diff) ? named.join(', ') : strings.onlyMoves
  return `${against(diff.from.version, to)}: ${what}`
}

/** The changes between two versions, one line each. */
export function ChangeList({ diff }: { readonly diff: VersionDiff }) {
  if (!changesMeaning(diff)) return undefined
  const { nodes, edges } = diff
  return (
    <ul className={classes.changes}>
      {nodes.added.map((node) => (
        <PartLine key={`+n ${node.id}`} mark="added" what={strings.node} name={node.id} detail={describe(node)} />
      ))}
      {nodes.removed.map((node) => (
        <PartLine key={`-n ${node.id}`} mark="removed" what={strings.node} name={node.id} detail={describe(node)} />
      ))}
      {nodes.changed.map(({ id, changes }) => (
        <PartLine key={`~n ${id}`} mark="changed" what={strings.node} name={id}>
          <JsonDiff changes={changes} />
        </PartLine>
      ))}
      {edges.added.map((edge) => (
        <PartLine key={`+e ${edge.id}`} mark="added" what={strings.edge} name={edgeName(edge)} />
      ))}
      {edges.removed.map((edge) => (
        <PartLine key={`-e ${edge.id}`} mark="removed" what={strings.edge} name={edgeName(edge)} />
      ))}
      {edges.changed.map(({ id, changes }) => (
        <PartLine key={`~e ${id}`} mark="changed" what={strings.edge} name={id}>
          <JsonDiff changes={changes} />
        </PartLine>
      ))}
    </ul>
  )
}

function describe(node: GraphNode): string {
  return graphStrings.withMode(node.type, modeOf(node))
}

function edgeName({ source, target }: GraphEdge): string {
  return strings.edgeOf(source, target)
}

interface PartLineProps {
  readonly mark: 'added' | 'removed' | 'changed'
  readonly what: string
  readonly name: string
  readonly detail?: string
  readonly children?: ReactNode
}

function PartLine({ mark, what, name, detail, children }: PartLineProps) {
  return (
    <li>
      <span className={classes.mark} data-mark={mark}>
        {strings[mark]}
      </span>{' '}
      <span className={classes.dimmed}>{what}</span> <strong>{name}</strong>{' '}
      {detail === undefined ? undefined : <span className={classes.dimmed}>{detail}</span>}
      {children}
    </li>
  )
}

function Moves({ diff: { moves } }: { readonly diff: VersionDiff }) {
  if (moves.length === 0) return undefined
  return (
    <details className={classes.moves}>
      <summary>{strings.moves(moves.length)}</summary>
      <ul>
        {moves.map(({ id, from, to }) => (
          <li key={id}>{strings.moveOf(id, strings.place(from.x, from.y), strings.place(to.x, to.y))}</li>
        ))}
      </ul>
    </details>
  )
}
