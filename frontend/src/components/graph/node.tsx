import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo } from 'react'
import { WarningIcon } from '../icons.tsx'
import { graphStrings as words } from '../../strings/everywhere/graph.ts'
import type { Mark } from './diff-drawing.ts'
import classes from './view.module.css'

export interface NodeData extends Record<string, unknown> {
  readonly title: string
  readonly summary: string
  readonly hasInput: boolean
  readonly hasOutput: boolean
  readonly isKnown: boolean
  readonly mark: Mark
  readonly problems: readonly string[]
  readonly severity: 'error' | 'warning' | undefined
}

export type FlowNode = Node<NodeData, 'step'>

const SIGNS: Readonly<Record<Mark, string>> = { added: '+', removed: '−', changed: '~', moved: '↔', same: '' }

/** A node of a pipeline, drawn. */
export const GraphNode = memo(function GraphNode({ id, data, isConnectable }: NodeProps<FlowNode>) {
  const { title, summary, hasInput, hasOutput, isKnown, mark, problems, severity } = data
  const className = [classes.node, classes[mark], severity && classes[severity]].filter(Boolean).join(' ')
  return (
    <div className={className}>
      {hasInput && <Handle type="target" position={Position.Left} isConnectable={isConnectable} />}
      <div className={classes.nodeHead}>
        <span className={classes.nodeTitle}>
          {title}
          {!isKnown && ` (${words.unknownType})`}
        </span>
        {mark !== 'same' && (
          <span className={classes.sign} title={words.marks[mark]}>
            {SIGNS[mark]}
          </span>
        )}
        {problems.length > 0 && (
          <span className={classes.problem} title={problems.join('\n')}>
            <WarningIcon size={14} />
          </span>
        )}
      </div>
      <div className={classes.nodeId}>{id}</div>
      <div className={classes.nodeSummary}>{summary}</div>
      {hasOutput && <Handle type="source" position={Position.Right} isConnectable={isConnectable} />}
    </div>
  )
})
