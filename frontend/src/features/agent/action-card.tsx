import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLiveEvents } from '../../api/live-events.ts'
import { queryClient } from '../../api/query-client.ts'
import type { AgentAction, PendingAction } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { ErrorNotice } from '../../components/status/error-notice.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { CodeBlock } from '../../components/text/code-block.tsx'
import { Figure, FigureRow } from '../../components/status/figure.tsx'
import { RelativeTime, useNow } from '../../time/relative-time.tsx'
import { StatusDot, type StatusTone } from '../../components/status/status-dot.tsx'
import { agentStrings } from '../../strings/agent.ts'
import { formatFigure } from '../operations/format-figure.ts'
import { figureName } from '../operations/operation-words.ts'
import { viewResult } from '../operations/result-figures.ts'
import { actionQuery, confirmAction, dismissAction } from './api.ts'
import classes from './agent.module.css'

const strings = agentStrings.action

type ActionState = AgentAction['state']

const TONES: Readonly<Record<ActionState, StatusTone>> = {
  pending: 'warn',
  running: 'active',
  done: 'ok',
  failed: 'bad',
  dismissed: 'idle',
  expired: 'idle',
}

/** A proposed change of the agent: the exact request, and its effect according to the service. */
export function ActionCard({ action }: { readonly action: PendingAction }) {
  const { queryKey } = actionQuery(action.id)
  useLiveEvents('agent_action.', ({ object_id: id }) => {
    if (id === action.id) void queryClient.invalidateQueries({ queryKey })
  })
  const now = useNow()
  const known = useQuery(actionQuery(action.id)).data
  const hasExpired = Date.parse(action.expires_at) <= now.getTime()
  const stored = known?.state ?? 'pending'
  const state = stored === 'pending' && hasExpired ? 'expired' : stored
  return (
    <section className={classes.action} aria-label={strings.label(action.summary)} data-state={state}>
      <div className={classes.actionHead}>
        <strong>{action.summary}</strong>
        <StatusDot tone={TONES[state]} label={strings.states[state]} />
      </div>
      <Arguments action={action} />
      {state === 'done' ? undefined : <Plan plan={action.plan} />}
      {state === 'pending' ? <Decision action={action} /> : undefined}
      {state === 'expired' ? <p className={classes.dimmed}>{strings.expired}</p> : undefined}
      {known ? <Outcome action={known} /> : undefined}
    </section>
  )
}

function Arguments({ action: { tool, arguments: values } }: { readonly action: PendingAction }) {
  return (
    <div>
      <h3>{strings.runs}</h3>
      <dl className={classes.arguments}>
        <div>
          <dt>{agentStrings.call.tool}</dt>
          <dd>{tool}</dd>
        </div>
        {Object.entries(values).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function Plan({ plan }: { readonly plan: unknown }) {
  const { figures, parts } = viewResult(plan)
  const shown = figures.filter(({ value }) => value !== 0)
  if (shown.length === 0 && parts.length === 0) return undefined
  return (
    <div>
      <h3>{strings.plan}</h3>
      <FigureRow>
        {shown.map(({ key, kind, value }) => (
          <Figure key={key} label={figureName(key)} value={formatFigure(kind, value)} />
        ))}
      </FigureRow>
      <details>
        <summary>{strings.planJson}</summary>
        <CodeBlock code={JSON.stringify(plan, null, 2)} label={strings.planJson} />
      </details>
    </div>
  )
}

function Decision({ action }: { readonly action: PendingAction }) {
  const { queryKey } = actionQuery(action.id)
  const options = {
    onDone: (decided: AgentAction) => queryClient.setQueryData(queryKey, decided),
    onError: () => void queryClient.invalidateQueries({ queryKey }),
  }
  const confirm = useAction({ send: () => confirmAction(action.id), ...options })
  const dismiss = useAction({ send: () => dismissAction(action.id), ...options })
  const consequence = strings.consequences[action.tool]
  const isBusy = confirm.isPending || dismiss.isPending
  const error = confirm.error ?? dismiss.error
  return (
    <>
      <ErrorNotice error={error} />
      {consequence === undefined ? undefined : <p className={classes.consequence}>{consequence}</p>}
      <Group gap="xs">
        <Button
          loading={confirm.isPending}
          disabled={isBusy}
          {...(consequence === undefined ? {} : { color: 'red.8' })}
          onClick={() => confirm.mutate()}
        >
          {strings.confirm}
        </Button>
        <Button variant="default" loading={dismiss.isPending} disabled={isBusy} onClick={() => dismiss.mutate()}>
          {strings.dismiss}
        </Button>
        <span className={classes.dimmed}>
          {strings.expires} <RelativeTime at={action.expires_at} />
        </span>
      </Group>
    </>
  )
}

function Outcome({ action: { state, error, result } }: { readonly action: AgentAction }) {
  if (state === 'failed' && error) {
    return (
      <Notice tone="bad" role="alert">
        {error.code === 'PLAN_STALE' ? strings.stale : error.message}
      </Notice>
    )
  }
  if (state !== 'done') return undefined
  const id = operationIdOf(result)
  const { figures } = viewResult(detailsOf(result))
  return (
    <div>
      <h3>{strings.result}</h3>
      <FigureRow>
        {figures
          .filter(({ key, value }) => value !== 0 && !IDS.has(key))
          .map(({ key, kind, value }) => (
            <Figure key={key} label={figureName(key)} value={formatFigure(kind, value)} />
          ))}
      </FigureRow>
      {id === undefined ? undefined : (
        <Link to="/operations/$id" params={{ id }}>
          {strings.openOperation}
        </Link>
      )}
    </div>
  )
}

const IDS: ReadonlySet<string> = new Set(['success', 'operation', 'operation_id'])

function operationIdOf(result: unknown): string | undefined {
  if (typeof result !== 'object' || result === null || !('operation_id' in result)) return undefined
  return typeof result.operation_id === 'string' ? result.operation_id : undefined
}

/** The details of an operation's answer, which carries them as a string (docs/api.md#table-operations). */
function detailsOf(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('details_json' in result)) return result
  return typeof result.details_json === 'string' ? (JSON.parse(result.details_json) as unknown) : result
}
