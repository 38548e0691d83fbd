import { useMemo } from 'react'
import { Scrollable } from '../../components/scrollable.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'
import type { GraphNode, Version, VersionDiff } from '../../api/types.ts'
import { marksOf, type Mark } from './diff-marks.ts'
import { DRAWING, edgePath, layOutGraph } from './graph-layout.ts'
import classes from './graph-drawing.module.css'

const SIGNS: Readonly<Record<Mark, string>> = { added: '+', removed: '−', changed: '~', same: '' }

interface GraphDrawingProps {
  readonly version: Pick<Version, 'nodes' | 'edges'>
  readonly diff: VersionDiff
  readonly selected: string | undefined
  readonly onSelect: (id: string) => void
}

/** A small drawing of a version with what a diff adds, removes and changes; the list of nodes says the same in words. */
export function GraphDrawing({ version, diff, selected, onSelect }: GraphDrawingProps) {
  const nodes = useMemo(() => [...version.nodes, ...diff.nodes.removed], [version, diff])
  const edges = useMemo(() => [...version.edges, ...diff.edges.removed], [version, diff])
  const marks = useMemo(() => marksOf(diff), [diff])
  const layout = useMemo(
    () =>
      layOutGraph(
        nodes.map(({ id, position }) => ({ id, y: position.y })),
        edges,
      ),
    [nodes, edges],
  )
  const { boxes, bends, width, height } = layout
  return (
    <Scrollable className={classes.scroll} label={strings.snapshot.scroll}>
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={strings.snapshot.drawing(version.nodes.length, version.edges.length)}
      >
        {edges.map((edge, index) => {
          const [from, to] = [boxes.get(edge.source), boxes.get(edge.target)]
          if (!from || !to) return undefined
          const mark = marks.edges.get(edge.id) ?? 'same'
          return (
            <path
              key={`${mark}:${edge.id}`}
              className={classes.edge}
              data-mark={mark}
              d={edgePath(from, bends[index] ?? [], to)}
            />
          )
        })}
        {nodes.map((node) => (
          <DrawnNode
            key={node.id}
            node={node}
            at={boxes.get(node.id) ?? { x: 0, y: 0 }}
            mark={marks.nodes.get(node.id) ?? 'same'}
            isSelected={node.id === selected}
            onSelect={onSelect}
          />
        ))}
      </svg>
    </Scrollable>
  )
}

interface DrawnNodeProps {
  readonly node: GraphNode
  readonly at: { readonly x: number; readonly y: number }
  readonly mark: Mark
  readonly isSelected: boolean
  readonly onSelect: (id: string) => void
}

function DrawnNode({ node, at, mark, isSelected, onSelect }: DrawnNodeProps) {
  const { boxWidth, boxHeight } = DRAWING
  return (
    <g
      transform={`translate(${at.x},${at.y})`}
      className={classes.node}
      data-mark={mark}
      data-selected={isSelected || undefined}
      onClick={() => onSelect(node.id)}
    >
      <title>{`${node.id} (${node.type})`}</title>
      <rect width={boxWidth} height={boxHeight} rx={4} />
      <text className={classes.name} x={10} y={18}>
        {shorten(node.id, mark === 'same' ? 18 : 15)}
      </text>
      <text className={classes.type} x={10} y={34}>
        {shorten(node.type, 19)}
      </text>
      {mark === 'same' ? undefined : (
        <text className={classes.sign} x={boxWidth - 12} y={19} textAnchor="middle">
          {SIGNS[mark]}
        </text>
      )}
    </g>
  )
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}
