import { WarningIcon } from '../../../components/icons.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import type { NodeProblems } from '../../../components/graph/flow-elements.ts'
import type { Graph } from '../../../components/graph/graph.ts'
import classes from '../designer.module.css'

const words = designerStrings.outline

interface OutlineProps {
  readonly graph: Graph
  readonly selectedId: string | undefined
  readonly problems: ReadonlyMap<string, NodeProblems>
  readonly onSelect: (id: string) => void
}

/** In reading order: from left to right, then from top to bottom. */
function inReadingOrder(nodes: Graph['nodes']): Graph['nodes'] {
  return nodes.toSorted((a, b) => a.position.x - b.position.x || a.position.y - b.position.y)
}

/** All nodes and their connections as a list, for keyboard and screen reader users. */
export function Outline({ graph, selectedId, problems, onSelect }: OutlineProps) {
  const { nodes, edges } = graph
  return (
    <section className={classes.panel} aria-label={words.title}>
      <h2>
        {words.title}{' '}
        <span className={classes.hint}>
          {words.nodes(nodes.length)}, {words.edges(edges.length)}
        </span>
      </h2>
      {nodes.length === 0 && <p className={classes.hint}>{words.empty}</p>}
      <ul className={classes.outline}>
        {inReadingOrder(nodes).map(({ id }) => {
          const targets = edges.filter(({ source }) => source === id).map(({ target }) => target)
          const found = problems.get(id)
          return (
            <li key={id}>
              <button
                type="button"
                className={classes.outlineItem}
                aria-pressed={id === selectedId}
                onClick={() => onSelect(id)}
              >
                <span className={classes.outlineName}>{id}</span>
                {targets.length > 0 && <span className={classes.hint}>{words.to(targets.join(', '))}</span>}
                {found && (
                  <span className={found.severity === 'error' ? classes.bad : classes.warn}>
                    <WarningIcon size={12} />
                    <span className={classes.srOnly}>{designerStrings.outline.problems(found.messages.length)}</span>
                  </span>
                )}
              </button>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
