import { Link } from '@tanstack/react-router'
import { StatusDot } from '../../components/status/status-dot.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { PipelineState } from '../pipelines/pipeline-state.tsx'
import type { Flow } from './flows.ts'
import classes from './lineage.module.css'

interface FlowProps {
  readonly flow: Flow
}

/** The state of a flow as a dot and its name. */
export function FlowState({ flow: { node } }: FlowProps) {
  if (node.kind === 'pipeline') return <PipelineState state={node.state} />
  return (
    <span title={words.notRunningHelp}>
      <StatusDot tone="idle" label={words.notRunning} />
    </span>
  )
}

/** How far a flow is behind; nothing if that is not known. */
export function FlowLag({ flow: { lag } }: FlowProps) {
  return lag === undefined ? null : <span title={words.measured}>{lag.text}</span>
}

/** What a flow runs, as a link to its pipeline or its version. */
export function FlowLink({ flow: { node, name } }: FlowProps) {
  if (node.kind === 'pipeline') {
    return (
      <Link to="/pipelines/$id" params={{ id: node.pipeline_id }} title={words.pipeline(node.pipeline_id)}>
        {name}
      </Link>
    )
  }
  return (
    <Link to="/definitions/$id" params={{ id: node.definition_id }} search={{ version: node.version_id }}>
      {name}
    </Link>
  )
}

/** A flow in a line: what it runs, its state, its lag and its environment. */
export function FlowLine({ flow }: FlowProps) {
  const { environment } = flow.node
  return (
    <span className={classes.flow}>
      <FlowLink flow={flow} />
      <FlowState flow={flow} />
      <FlowLag flow={flow} />
      {environment !== null && <span className={classes.dim}>{words.inEnvironment(environment)}</span>}
    </span>
  )
}

/** Names of tables as links; only the first ones of many. */
export function TableLinks({ tables }: { readonly tables: readonly string[] }) {
  if (tables.length === 0) return <span className={classes.dim}>{words.noTables}</span>
  const shown = tables.slice(0, SHOWN_TABLES)
  return (
    <>
      {shown.map((table, at) => (
        <span key={table}>
          {at > 0 && ', '}
          <Link to="/tables/$table" params={{ table }}>
            {table}
          </Link>
        </span>
      ))}
      {tables.length > shown.length && (
        <span className={classes.dim} title={tables.slice(shown.length).join('\n')}>
          {' '}
          {words.more(tables.length - shown.length)}
        </span>
      )}
    </>
  )
}

const SHOWN_TABLES = 3
