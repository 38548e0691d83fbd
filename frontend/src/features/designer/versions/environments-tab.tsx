import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode, useState } from 'react'
import { type Environment, ENVIRONMENTS } from '../../../../../src/domain/environments.ts'
import { useCan, useMe } from '../../../api/session.ts'
import type { BoardRow, VersionSummary } from '../../../api/types.ts'
import { definitionPageStrings, definitionStrings } from '../../../strings/pipelines/designer.ts'
import { DeploymentsSection } from '../../deployments/deployments-section.tsx'
import { useMonitor, usePipelineIds } from '../../pipelines/monitor/store.ts'
import { type Gate as GateState, gatesOf, type Move, movesOf } from '../board.ts'
import { Gate } from './gate.tsx'
import { MoveDialog } from './move-dialog.tsx'
import { runningOf } from './running-of.ts'
import { VersionCard } from './version-card.tsx'
import classes from '../board.module.css'

const words = definitionPageStrings.board
/** The number of versions per column that are shown as cards. */
const SHOWN_CARDS = 4

interface EnvironmentsProps {
  readonly row: BoardRow
  /** Newest first. */
  readonly versions: readonly VersionSummary[]
}

interface AskedMove {
  readonly version: VersionSummary
  readonly move: Move
}

/** Where the versions are, with the gates between the environments. */
export function EnvironmentsTab({ row, versions }: EnvironmentsProps) {
  const role = useMe()?.role ?? 'Auditor'
  const [asked, setAsked] = useState<AskedMove>()
  useMonitor()
  usePipelineIds()
  const gates = gatesOf(row.pending)
  return (
    <>
      <ol className={classes.board} aria-label={words.label}>
        {ENVIRONMENTS.map((environment, at) => {
          const gate = gates[at]
          return (
            <Fragment key={environment}>
              <Column environment={environment} versions={versions} definitionId={row.id}>
                {(version) => (
                  <VersionCard
                    key={version.id}
                    version={version}
                    running={runningOf(version.id)}
                    moves={movesOf(version, row.pending, role)}
                    onMove={(move) => setAsked({ version, move })}
                  />
                )}
              </Column>
              {gate && <GateBetween gate={gate} />}
            </Fragment>
          )
        })}
      </ol>
      <DeploymentsSection definitionId={row.id} versions={versions} runningOf={runningOf} />
      {asked && (
        <MoveDialog
          key={`${asked.version.id} ${asked.move.transition}`}
          version={asked.version}
          move={asked.move}
          newestThere={row.environments[asked.move.step.to]?.newest.version}
          running={runningOf(asked.version.id)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  )
}

interface ColumnProps {
  readonly environment: Environment
  readonly versions: readonly VersionSummary[]
  readonly definitionId: string
  readonly children: (version: VersionSummary) => ReactNode
}

function Column({ environment, versions, definitionId, children }: ColumnProps) {
  const here = versions.filter((version) => version.environment === environment)
  return (
    <li className={classes.column}>
      <h2>
        {definitionStrings.environments[environment]} <span className={classes.hint}>{here.length}</span>
      </h2>
      {here.length === 0 && <p className={classes.nothing}>{words.empty}</p>}
      {here.slice(0, SHOWN_CARDS).map(children)}
      {here.length > SHOWN_CARDS && (
        <Link to="/definitions/$id" params={{ id: definitionId }} search={{ tab: 'versions' }}>
          {words.older(here.length - SHOWN_CARDS)}
        </Link>
      )}
    </li>
  )
}

function GateBetween({ gate: { kind, to, waiting } }: { readonly gate: GateState }) {
  const canSeeRequests = useCan('DataEngineer')
  const label = waiting.length > 0 ? words.gates.waiting(to, waiting.length) : words.gates[kind](to)
  return (
    <li className={classes.gate}>
      <Gate kind={kind} isWaiting={waiting.length > 0} label={label} />
      <span className={classes.hint}>{words.gateWords[kind]}</span>
      {waiting.map(({ id, version, status, requested_by: who }) => (
        <div key={id} className={classes.waiting}>
          {(status === 'waiting_for_window' ? words.waitingForWindow : words.waiting)(version, who)}
          {canSeeRequests && (
            <Link to="/approvals/$id" params={{ id }}>
              {words.openRequest}
            </Link>
          )}
        </div>
      ))}
    </li>
  )
}
