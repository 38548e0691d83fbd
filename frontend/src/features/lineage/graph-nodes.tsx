import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo } from 'react'
import { lineage as words } from '../../strings/lineage.ts'
import { pipelines } from '../../strings/pipelines/pipelines.ts'
import { FlowLag, FlowState } from './flow-text.tsx'
import type { Flow, TableNode } from './flows.ts'
import classes from './lineage.module.css'

type TableFlowNode = Node<
  {
    readonly node: TableNode
    readonly isFocus: boolean
    /** How many of its flows are not drawn. */
    readonly hidden: number
    /** Shows what is hidden, or hides what is behind it; undefined: neither. */
    readonly onToggle: (() => void) | undefined
  },
  'table'
>
type PipelineFlowNode = Node<{ readonly flow: Flow }, 'flow'>

/** A node of the drawing. */
export type LineageFlowNode = TableFlowNode | PipelineFlowNode

/** The health of a table in words. */
export function bandText({ exists, score, band }: TableNode): string {
  if (exists === false) return words.gone
  return score === null ? words.details.noScore : words.details.score(words.page.bands[band], score)
}

/** The state of a flow in words, with its lag. */
export function stateText({ node, lag }: Flow): string {
  const state = node.kind === 'pipeline' ? pipelines.states[node.state] : words.notRunning
  return lag === undefined ? state : `${state}, ${lag.text}`
}

/** A table, coloured by its health. */
export const TableNodeView = memo(function TableNodeView({ data }: NodeProps<TableFlowNode>) {
  const { node, isFocus, hidden, onToggle } = data
  const isGone = node.exists === false
  const names = ['node', 'isTable', node.band, isFocus && 'isFocus', isGone && 'isGone']
  return (
    <div className={names.map((name) => (name === false ? '' : (classes[name] ?? ''))).join(' ')}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className={classes.name} title={node.table}>
        {node.table}
      </div>
      <div className={classes.line}>{bandText(node)}</div>
      {onToggle && (
        <button
          type="button"
          className={`${classes.toggle} nodrag`}
          aria-label={`${node.table}: ${hidden > 0 ? words.page.expand(hidden) : words.page.collapse}`}
          onClick={(event) => {
            event.stopPropagation()
            onToggle()
          }}
        >
          {hidden > 0 ? words.page.showMore(hidden) : words.page.hide}
        </button>
      )}
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
})

/** A pipeline or a version, with its state. */
export const FlowNodeView = memo(function FlowNodeView({ data: { flow } }: NodeProps<PipelineFlowNode>) {
  const { environment } = flow.node
  return (
    <div className={`${classes.node} ${classes.isFlow}`}>
      <Handle type="target" position={Position.Left} isConnectable={false} />
      <div className={classes.name} title={flow.name}>
        {flow.name}
      </div>
      <div className={classes.line}>
        <FlowState flow={flow} />
      </div>
      <div className={classes.line}>
        <FlowLag flow={flow} /> {environment !== null && words.inEnvironment(environment)}
      </div>
      <Handle type="source" position={Position.Right} isConnectable={false} />
    </div>
  )
})
