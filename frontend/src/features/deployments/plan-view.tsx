import type { ReactNode } from 'react'
import type { DeploymentPlan } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { deploymentPlanStrings as words } from '../../strings/deployments.ts'
import classes from './deployments.module.css'

/** What a change of a deployment would do: what runs, what would run, its sources, consequences and problems. */
export function PlanView({ plan }: { readonly plan: DeploymentPlan }) {
  const { runs, would_run: next, sources, consequences, problems } = plan
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
      {problems.length > 0 && (
        <Notice tone="bad" title={words.problems}>
          <ul>
            {problems.map(({ node_id: node, parameter, message }) => (
              <li key={`${node} ${parameter} ${message}`}>{words.problem(message, node, parameter)}</li>
            ))}
          </ul>
        </Notice>
      )}
      <Sentences
        title={words.sources}
        texts={sources.map(({ table, starts }) => words.source(table, words.starts[starts]))}
      />
      <Sentences title={words.consequences} texts={consequences} />
    </div>
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
