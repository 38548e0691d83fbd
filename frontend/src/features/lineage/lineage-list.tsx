import { lineage as words } from '../../strings/lineage.ts'
import { FlowLine, TableLinks } from './flow-text.tsx'
import { byUrgency } from './flows.ts'
import type { LineageGraph } from './graph-model.ts'
import classes from './lineage.module.css'

/** The same as the graph, as a list: sources ▸ pipeline ▸ sinks, those with trouble first. */
export function LineageList({ graph }: { readonly graph: LineageGraph }) {
  return (
    <ul className={classes.flows} aria-label={words.title}>
      {byUrgency([...graph.flows.values()]).map((flow) => (
        <li key={flow.node.id}>
          <FlowLine flow={flow} />
          <span className={classes.tables}>
            <TableLinks tables={flow.sources} /> <span aria-hidden="true">{words.arrow}</span>{' '}
            <TableLinks tables={flow.sinks} />
          </span>
        </li>
      ))}
    </ul>
  )
}
