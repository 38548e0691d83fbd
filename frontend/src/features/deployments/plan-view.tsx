import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { RunEnvironment } from '../../../../src/domain/environments.ts'
import type { DeploymentPlan } from '../../api/types.ts'
import { MissingSink } from '../../components/sink-table/missing-sink.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { deploymentPlanStrings as words } from '../../strings/deployments.ts'
import { BlockingObject } from './blocking-object.tsx'
import classes from './deployments.module.css'

interface PlanViewProps {
  readonly plan: DeploymentPlan
  readonly definitionId: string
  readonly environment: RunEnvironment
  /** Called when a problem was solved from here. */
  readonly onSolved: () => void
}

/** What a change of a deployment would do: what runs, what would run, its sources, consequences and problems. */
export function PlanView(props: PlanViewProps) {
  const { runs, would_run: next, sources, consequences } = props.plan
  return (
    <div className={classes.plan}>
      <dl className={classes.facts}>
        <Fact label={words.runs}>
          {runs === null ? (
            words.nothing
          ) : (
            <Flow version={runs.version} sources={runs.source_tables} sink={runs.sink_table} />
          )}
        </Fact>
        <Fact label={words.wouldRun}>
          {next === null ? (
            words.nothing
          ) : (
            <Flow version={next.version} sources={next.source_tables} sink={next.sink_table} />
          )}
        </Fact>
        {next && <Fact label={words.checkpointLabel}>{words.checkpoint[next.checkpoint]}</Fact>}
        {next && <Fact label={words.trigger}>{next.trigger_interval}</Fact>}
      </dl>
      <Problems {...props} />
      <Sentences
        title={words.sources}
        texts={sources.map(({ table, starts }) => words.source(table, words.starts[starts]))}
      />
      <Sentences title={words.consequences} texts={consequences} />
    </div>
  )
}

/** What keeps the version from running, each with what can be done about it. */
function Problems({ plan, definitionId, environment, onSolved }: PlanViewProps) {
  const { problems, version_id: versionId } = plan
  if (problems.length === 0) return undefined
  return (
    <Notice tone="bad" title={words.problems}>
      <ul>
        {problems.map((problem) => (
          <li key={`${problem.node_id} ${problem.parameter} ${problem.message}`}>
            {words.problem(problem.message, problem.node_id, problem.parameter)}{' '}
            <span className={classes.remedies}>
              {problem.blocked_by && <BlockingObject object={problem.blocked_by} onFree={onSolved} />}
              <PlaceLink problem={problem} definitionId={definitionId} versionId={versionId} />
            </span>
          </li>
        ))}
      </ul>
      {versionId !== null && problems.some(({ code }) => MISSING.has(code)) && (
        <MissingSink place={{ definitionId, versionId, environment }} onMade={onSolved} />
      )}
    </Notice>
  )
}

/** Codes of problems with tables that do not exist. */
const MISSING: ReadonlySet<string> = new Set(['NO_SUCH_TABLE', 'NOT_FOUND'])

interface PlaceLinkProps {
  readonly problem: DeploymentPlan['problems'][number]
  readonly definitionId: string
  readonly versionId: string | null
}

/** A link to the parameters or the node that a problem is about. */
function PlaceLink({ problem: { node_id: node, parameter }, definitionId, versionId }: PlaceLinkProps) {
  if (parameter !== null) return <Link to="/environments">{words.blocked.environments}</Link>
  if (node === null || versionId === null) return undefined
  return (
    <Link to="/definitions/$id" params={{ id: definitionId }} search={{ version: versionId, node } as never}>
      {words.blocked.node}
    </Link>
  )
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

interface FlowProps {
  readonly version: number | null
  readonly sources: readonly string[]
  readonly sink: string
}

function Flow({ version, sources, sink }: FlowProps) {
  return (
    <>
      <strong>{words.version(version)}</strong> <span className={classes.dimmed}>{words.flow(sources, sink)}</span>
    </>
  )
}

function Sentences({ title, texts }: { readonly title: string; readonly texts: readonly string[] }) {
  if (texts.length === 0) return undefined
  return (
    <div>
      <h3>{title}</h3>
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )
}
