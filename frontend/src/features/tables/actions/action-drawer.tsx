import { Drawer, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useDeferredValue, useRef, useState } from 'react'
import { OPERATIONS } from '../../../../../src/domain/tables/operations.ts'
import { useCan } from '../../../api/session.ts'
import { Forbidden, Loading } from '../../../components/status/states.tsx'
import { useZone } from '../../../time/time-settings.ts'
import type { Zone } from '../../../time/zone.ts'
import { operations } from '../../../strings/everywhere/common.ts'
import { about, actions as words } from '../../../strings/table-actions.ts'
import { healthQuery } from '../api.ts'
import type { TableSearch } from '../search.ts'
import { type ActionKind, type ActionSpec, ACTIONS } from './action-specs.ts'
import classes from './action-drawer.module.css'
import { ActionSteps } from './action-steps.tsx'
import { useFocusReturned } from './drawer-focus.ts'
import { fillForm, fillTarget, type FormValues } from './form-values.ts'
import { OperationOutcome } from './operation-outcome.tsx'

export interface ActionDrawerProps {
  readonly table: string
  readonly kind: ActionKind
  readonly search: TableSearch
  readonly onChange: (part: Pick<TableSearch, 'op'>) => void
  readonly onClose: () => void
}

/** A drawer with options, preview, live progress and result of an action; the URL contains the current step. */
export function ActionDrawer({ table, kind, search, onChange, onClose }: ActionDrawerProps) {
  const name = operations.names[kind] ?? kind
  const drawer = useRef<HTMLDivElement>(null)
  const isOpen = useDeferredValue(true, false) // the form comes after the frame, so that opening is not held up
  useFocusReturned()
  return (
    <Drawer opened onClose={onClose} position="right" size={480} title={words.title(name, table)}>
      <Stack gap="md" ref={drawer} tabIndex={-1} data-autofocus className={classes.body}>
        <p className={classes.about}>{about[kind]}</p>
        {isOpen && (
          <DrawerBody drawer={drawer} table={table} kind={kind} search={search} onChange={onChange} onClose={onClose} />
        )}
      </Stack>
    </Drawer>
  )
}

interface DrawerBodyProps extends ActionDrawerProps {
  readonly drawer: RefObject<HTMLElement | null>
}

function DrawerBody({ drawer, table, kind, search, onChange, onClose }: DrawerBodyProps) {
  const spec = ACTIONS[kind]
  const { minRole } = OPERATIONS[kind].request
  const allowed = useCan(minRole)
  const wantsRecommended = search.recommended !== undefined
  const health = useQuery({ ...healthQuery(table), enabled: wantsRecommended })
  const [again, setAgain] = useState<FormValues>()
  const zone = useZone()
  if (search.op !== undefined) {
    const askAgain = (request: Readonly<Record<string, unknown>>): void => {
      setAgain(fillForm(spec, request, zone))
      onChange({ op: '' })
    }
    return (
      <OperationOutcome drawer={drawer} table={table} operationId={search.op} onAgain={askAgain} onClose={onClose} />
    )
  }
  if (!allowed) return <Forbidden role={minRole} />
  if (wantsRecommended && health.isPending) return <Loading lines={4} />
  const recommended = wantsRecommended ? health.data?.actions.find(({ operation }) => operation === kind) : undefined
  return (
    <ActionSteps
      drawer={drawer}
      table={table}
      kind={kind}
      initial={again ?? initialValues(spec, { target: search.target, request: recommended?.request.body, zone })}
      previewAtOnce={again !== undefined || recommended !== undefined}
      note={wantsRecommended && !recommended ? words.recommendedGone : undefined}
      onStarted={(op) => onChange({ op })}
    />
  )
}

interface Opening {
  readonly target: string | undefined
  /** The request that the health report recommends. */
  readonly request: Readonly<Record<string, unknown>> | undefined
  readonly zone: Zone
}

function initialValues(spec: ActionSpec, { target, request, zone }: Opening): FormValues {
  if (request !== undefined) return fillForm(spec, request, zone)
  return target === undefined ? {} : fillTarget(spec, target, zone)
}
