import { Button, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { GraphNode } from '../../api/types.ts'
import { type ContentMark, marksOf } from '../../components/graph/diff-drawing.ts'
import { configText, modeOf } from '../../components/graph/node-summary.ts'
import { graphStrings } from '../../strings/everywhere/graph.ts'
import { approvalStrings } from '../../strings/approvals.ts'
import type { RequestView } from './request-view.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.snapshot
const FIRST_NODES = 40

interface SnapshotSectionProps {
  readonly view: RequestView
  readonly selected: string | undefined
}

/** The nodes of the requested version, with their configuration. */
export function SnapshotSection({ view, selected }: SnapshotSectionProps) {
  const { nodes, edges } = view.snapshot
  const [isAll, setAll] = useState(false)
  const reached = Math.max(FIRST_NODES, nodes.findIndex(({ id }) => id === selected) + 1)
  const shown = isAll ? nodes : nodes.slice(0, reached)
  const marks = view.diff.from === null ? undefined : marksOf(view.diff.nodes)
  return (
    <section className={classes.section} aria-labelledby="approval-snapshot">
      <Title order={2} id="approval-snapshot">
        {approvalStrings.sections.snapshot}
      </Title>
      <Text size="sm" c="dimmed">
        {nodes.length === 0 ? strings.noNodes : strings.size(nodes.length, edges.length)}
      </Text>
      <ol className={classes.nodes}>
        {shown.map((node) => (
          <NodeItem
            key={node.id}
            node={node}
            mark={marks?.get(node.id) ?? 'same'}
            targets={edges.filter(({ source }) => source === node.id).map(({ target }) => target)}
            isSelected={node.id === selected}
          />
        ))}
      </ol>
      {shown.length < nodes.length ? (
        <div>
          <Button variant="default" onClick={() => setAll(true)}>
            {strings.more(nodes.length - shown.length)}
          </Button>
        </div>
      ) : undefined}
    </section>
  )
}

interface NodeItemProps {
  readonly node: GraphNode
  readonly mark: ContentMark
  readonly targets: readonly string[]
  readonly isSelected: boolean
}

function NodeItem({ node, mark, targets, isSelected }: NodeItemProps) {
  const item = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isSelected) item.current?.scrollIntoView({ block: 'nearest' })
  }, [isSelected])
  const entries = Object.entries(node.config)
  return (
    <li ref={item} className={classes.node} data-selected={isSelected || undefined}>
      <div className={classes.nodeHead}>
        <strong>{node.id}</strong>
        <span className={classes.dimmed}>{graphStrings.withMode(node.type, modeOf(node))}</span>
        {mark === 'same' ? undefined : (
          <span className={classes.mark} data-mark={mark}>
            {approvalStrings.change[mark]}
          </span>
        )}
        {targets.length === 0 ? undefined : (
          <span className={classes.targets}>{strings.goesTo(targets.join(', '))}</span>
        )}
      </div>
      {entries.length === 0 ? (
        <span className={classes.dimmed}>{strings.noConfig}</span>
      ) : (
        <dl className={classes.config}>
          {entries.map(([key, value]) => (
            <div key={key}>
              <dt>{key}</dt>
              <dd>{configText(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}
