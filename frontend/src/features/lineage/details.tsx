import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lineageQuery } from '../../api/lineage.ts'
import type { LineageEdge } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { Loading } from '../../components/status/states.tsx'
import { RelativeTime } from '../../time/relative-time.tsx'
import { lineage as words } from '../../strings/lineage.ts'
import { FlowLine, TableLinks } from './flow-text.tsx'
import { byUrgency, type Flow, type TableNode } from './flows.ts'
import type { LineageGraph, VisibleGraph } from './graph-model.ts'
import { bandText } from './graph-nodes.tsx'
import classes from './lineage.module.css'

const texts = words.details

interface DetailsProps {
  readonly graph: LineageGraph
  readonly visible: VisibleGraph
  /** The node of the table in the middle. */
  readonly focusId: string | undefined
  readonly selectedId: string | undefined
  readonly onToggle: (id: string) => void
}

/** What is known of the selected node, and what can be done with it. */
export function Details({ selectedId, ...rest }: DetailsProps) {
  const { graph } = rest
  const table = graph.tables.get(selectedId ?? '')
  const flow = graph.flows.get(selectedId ?? '')
  return (
    <aside className={classes.details} aria-label={texts.label} aria-live="polite">
      {table && <TableDetails node={table} {...rest} />}
      {flow && <FlowDetails flow={flow} />}
      {!table && !flow && <span className={classes.dim}>{texts.none}</span>}
    </aside>
  )
}

interface TableDetailsProps extends Omit<DetailsProps, 'selectedId'> {
  readonly node: TableNode
}

function TableDetails({ node, graph, visible, focusId, onToggle }: TableDetailsProps) {
  const { table, id } = node
  const flows = byUrgency([...graph.flows.values()])
  const hidden = visible.hidden.get(id) ?? 0
  return (
    <>
      <h2>{table}</h2>
      <span>{bandText(node)}</span>
      {node.exists === null && <span className={classes.dim}>{words.uncertain}</span>}
      {node.exists !== false && (
        <Link to="/tables/$table" params={{ table }}>
          {texts.openTable}
        </Link>
      )}
      {id !== focusId && (
        <Link to="/lineage" search={{ table }}>
          {texts.startHere}
        </Link>
      )}
      {(hidden > 0 || visible.collapsible.has(id)) && (
        <Button size="compact-xs" variant="default" onClick={() => onToggle(id)}>
          {hidden > 0 ? words.page.expand(hidden) : words.page.collapse}
        </Button>
      )}
      <ShortList title={words.writtenBy} flows={flows.filter(({ sinks }) => sinks.includes(table))} />
      <ShortList title={words.readBy} flows={flows.filter(({ sources }) => sources.includes(table))} />
    </>
  )
}

function ShortList({ title, flows }: { readonly title: string; readonly flows: readonly Flow[] }) {
  if (flows.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <ul className={classes.flows}>
        {flows.map((flow) => (
          <li key={flow.node.id}>
            <FlowLine flow={flow} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function FlowDetails({ flow }: { readonly flow: Flow }) {
  const { node, sources, sinks, lag } = flow
  const [table] = [...sinks, ...sources]
  const asked = useQuery(lineageQuery({ table, depth: 1, columns: true }))
  const answer = asked.isPlaceholderData ? undefined : asked.data
  const edges = (answer?.edges ?? []).filter(({ from, to }) => from === node.id || to === node.id)
  return (
    <>
      <h2>{flow.name}</h2>
      <FlowLine flow={flow} />
      {lag && (
        <span className={classes.dim}>
          {words.measured}: <RelativeTime at={lag.measuredAt} />
        </span>
      )}
      {node.kind === 'pipeline' && node.error !== null && (
        <Notice tone={node.state === 'failed' ? 'bad' : 'warn'}>{node.error.message}</Notice>
      )}
      <span>
        <TableLinks tables={sources} /> <span aria-hidden="true">{words.arrow}</span> <TableLinks tables={sinks} />
      </span>
      {!answer && !asked.isError && <Loading lines={3} />}
      {edges.map((edge) => (
        <EdgeColumns key={edge.id} edge={edge} />
      ))}
    </>
  )
}

/** The columns of an edge; a column that is written with those that it is made of. */
function EdgeColumns({ edge: { kind, from, to, columns, column_sources: written } }: { readonly edge: LineageEdge }) {
  if (kind !== 'reads' && kind !== 'writes') return null
  const table = (kind === 'reads' ? from : to).replace(/^table:/, '')
  const lines = written?.map(({ column, sources }) => originText(column, sources)) ?? columns
  return (
    <section>
      <h3>{kind === 'reads' ? texts.reads(table) : texts.writes(table)}</h3>
      {lines === null && <span className={classes.dim}>{texts.allUnknown}</span>}
      {lines?.length === 0 && <span className={classes.dim}>{texts.noColumns}</span>}
      <ul className={classes.columns}>
        {lines?.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  )
}

type Origins = NonNullable<LineageEdge['column_sources']>[number]['sources']

function originText(column: string, sources: Origins): string {
  if (sources === null) return texts.fromUnknown(column)
  if (sources.length === 0) return texts.fromNothing(column)
  return texts.from(column, sources.map((source) => `${source.table}.${source.column}`).join(', '))
}
