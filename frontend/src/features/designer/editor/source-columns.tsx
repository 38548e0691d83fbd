import { useQueries } from '@tanstack/react-query'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { columnsQuery } from '../../../api/tables.ts'
import type { Graph, Node } from '../../../components/graph/graph.ts'
import { sourceTablesOf } from './graph-reading.ts'
import classes from '../designer.module.css'

/** The columns available to a node, as help for writing SQL; for a source or sink, the columns of its table. */
export function SourceColumns({ graph, node }: { readonly graph: Graph; readonly node: Node }) {
  const tables = sourceTablesOf(graph, node)
  const schemas = useQueries({ queries: tables.map(columnsQuery) })
  return tables.map((table, at) => {
    const columns = schemas[at]?.data?.columns
    if (!columns) return null
    return (
      <details key={table} className={classes.columns}>
        <summary>{designerStrings.inspector.columns(table)}</summary>
        <ul>
          {columns.map(({ name, type }) => (
            <li key={name}>
              <code>{name}</code> <span className={classes.hint}>{type}</span>
            </li>
          ))}
        </ul>
      </details>
    )
  })
}
