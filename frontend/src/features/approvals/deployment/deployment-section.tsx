import { Text, Title } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ApprovedDeployment, GraphNode } from '../../../api/types.ts'
import { configText } from '../../../components/graph/node-summary.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { approvedDeploymentStrings as words } from '../../../strings/pipelines/rehearsal.ts'
import { PlanView } from '../../deployments/plan-view.tsx'
import { ChangeList } from '../change-section.tsx'
import { requestQuery } from '../api.ts'
import type { RequestView } from '../request-view.ts'
import classes from '../approvals.module.css'
import own from './deployment.module.css'

interface DeploymentSectionProps {
  /** Null: it cannot be said now. */
  readonly deploys: ApprovedDeployment | null
  /** Why it cannot be said. */
  readonly unavailable: string | null
  /** The version that the change above is compared with. */
  readonly comparedId: string | undefined
  readonly request: RequestView
}

/** What an approval would deploy in the target environment. */
export function DeploymentSection({ deploys, unavailable, comparedId, request }: DeploymentSectionProps) {
  return (
    <section className={classes.section} aria-labelledby="approval-deployment">
      <Title order={2} id="approval-deployment">
        {words.title}
      </Title>
      {unavailable !== null && (
        <Notice tone="warn" title={words.unavailable}>
          {unavailable}
        </Notice>
      )}
      {deploys && <Deployment deploys={deploys} comparedId={comparedId} request={request} />}
    </section>
  )
}

interface DeploymentProps extends Pick<DeploymentSectionProps, 'comparedId' | 'request'> {
  readonly deploys: ApprovedDeployment
}

function Deployment({ deploys, comparedId, request }: DeploymentProps) {
  const client = useQueryClient()
  const { environment, deploy, plan, diff, validation, sink, graph } = deploys
  const warnings = validation.problems.filter(({ severity }) => severity === 'warning')
  return (
    <>
      <Text size="sm">{words.mode[deploy]}</Text>
      <PlanView
        plan={plan}
        definitionId={request.definition_id}
        environment={environment}
        onSolved={() => void client.invalidateQueries({ queryKey: requestQuery(request.id).queryKey })}
      />
      {warnings.length > 0 && (
        <Notice tone="warn" title={words.warnings}>
          <ul className={own.list}>
            {warnings.map(({ node_id: node, message }) => (
              <li key={`${node} ${message}`}>{node === null ? message : `${node}: ${message}`}</li>
            ))}
          </ul>
        </Notice>
      )}
      {diff?.from && diff.from.id !== comparedId && <RunningDiff diff={diff} version={diff.from.version} />}
      {sink && <SinkColumns sink={sink} />}
      <Configs nodes={graph.nodes} />
    </>
  )
}

interface RunningDiffProps {
  readonly diff: NonNullable<ApprovedDeployment['diff']>
  readonly version: number
}

function RunningDiff({ diff, version }: RunningDiffProps) {
  if (diff.identical) return <Text size="sm">{words.noChange(version)}</Text>
  return (
    <div>
      <h3 className={own.heading}>{words.changeTitle(version)}</h3>
      <ChangeList diff={diff} />
    </div>
  )
}

function SinkColumns({ sink }: { readonly sink: NonNullable<ApprovedDeployment['sink']> }) {
  const { table, exists, columns } = sink
  const { yes, no } = words.columns
  return (
    <div className={own.scroll}>
      <table className={own.table}>
        <caption>{exists ? words.columns.title(table) : words.columns.missing(table)}</caption>
        <thead>
          <tr>
            <th scope="col">{words.columns.name}</th>
            <th scope="col">{words.columns.type}</th>
            <th scope="col">{words.columns.now}</th>
            <th scope="col">{words.columns.next}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, type, in_sink: inSink, written_now: now, would_write: next }) => (
            <tr key={`${inSink} ${name}`} data-changed={now !== next || undefined}>
              <th scope="row">{name}</th>
              <td>{type}</td>
              <td>{now ? yes : no}</td>
              <td>
                {next ? yes : no}
                {exists && !inSink && <span className={classes.dimmed}> {words.columns.notInTable}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Configs({ nodes }: { readonly nodes: readonly GraphNode[] }) {
  return (
    <details className={classes.moves}>
      <summary>{words.configs}</summary>
      <dl className={own.configs}>
        {nodes.map(({ id, config }) => (
          <div key={id}>
            <dt>{id}</dt>
            <dd>
              {Object.entries(config).map(([key, value]) => (
                <div key={key}>
                  {key}: {configText(value)}
                </div>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
