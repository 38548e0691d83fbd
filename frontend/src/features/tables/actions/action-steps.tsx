import { Button, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { ApiError, hasCode } from '../../../api/api-error.ts'
import { Notice } from '../../../components/notice.tsx'
import { errorText } from '../../../components/states.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { operations } from '../../../strings/common.ts'
import { actions as words } from '../../../strings/table-actions.ts'
import { applyPlan, overviewQuery, previewAction } from '../api.ts'
import classes from './action-drawer.module.css'
import { ActionForm } from './action-form.tsx'
import { isNothingToDo, parseDetails } from './action-figures.ts'
import { type ActionKind, ACTIONS } from './action-specs.ts'
import { effectiveDefaults } from './effective-defaults.ts'
import { useFocusAtStep } from './drawer-focus.ts'
import { type FormErrors, type FormValues, readForm } from './form-values.ts'
import { PreviewView } from './preview-view.tsx'

export interface ActionStepsProps {
  readonly drawer: RefObject<HTMLElement | null>
  readonly table: string
  readonly kind: ActionKind
  readonly initial: FormValues
  /** Goes to the preview without waiting: the options are a recommendation. */
  readonly previewAtOnce: boolean
  readonly note: string | undefined
  readonly onStarted: (operationId: string) => void
}

/** Options, then what they would do, then the start of exactly that. */
export function ActionSteps({ drawer, table, kind, initial, previewAtOnce, note, onStarted }: ActionStepsProps) {
  const spec = ACTIONS[kind]
  const [values, setValues] = useState(initial)
  const zone = useZone()
  const properties = useQuery(overviewQuery(table)).data?.properties ?? {}
  const [found, setFound] = useState<FormErrors>({})
  const preview = useMutation({
    mutationFn: (request: Readonly<Record<string, unknown>>) => previewAction(spec.endpoint, { table, ...request }),
  })
  const apply = useMutation({
    mutationFn: (planId: string) => applyPlan(spec.endpoint, { table, ...preview.variables }, planId),
    onSuccess: ({ operation_id }) => onStarted(operation_id),
  })
  const ask = (): void => {
    const { request, errors } = readForm(spec, values, zone)
    setFound(errors)
    apply.reset()
    if (Object.keys(errors).length === 0) preview.mutate(request)
  }
  useAskOnce(previewAtOnce, ask)
  useFocusAtStep(drawer, `${preview.status} ${apply.status}`)
  const planned = preview.data
  if (planned === undefined) {
    const refused = preview.error instanceof ApiError ? placeErrors(preview.error, spec.fields) : undefined
    return (
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          ask()
        }}
      >
        <Stack gap="sm">
          {note !== undefined && <Notice tone="info">{note}</Notice>}
          <ActionForm
            table={table}
            fields={spec.fields}
            defaults={effectiveDefaults(kind, properties, values)}
            values={values}
            errors={{ ...refused, ...found }}
            onChange={(next) => {
              setValues(next)
              setFound(stillWrong(found, values, next))
            }}
          />
          {preview.isError && <Notice tone="bad">{errorText(preview.error)}</Notice>}
          <div className={classes.buttons}>
            <Button type="submit" loading={preview.isPending}>
              {words.preview}
            </Button>
          </div>
        </Stack>
      </form>
    )
  }
  const details = parseDetails(planned.details_json)
  const nothing = isNothingToDo(kind, details)
  const stale = hasCode(apply.error, 'PLAN_STALE')
  return (
    <Stack gap="sm">
      <PreviewView kind={kind} details={details} nothing={nothing} />
      {apply.isError && (
        <Notice tone={stale ? 'warn' : 'bad'} role="alert">
          {stale ? words.stale : errorText(apply.error)}
        </Notice>
      )}
      <div className={classes.buttons}>
        <Button variant="default" onClick={preview.reset} disabled={apply.isPending}>
          {words.back}
        </Button>
        {stale ? (
          <Button onClick={ask} loading={preview.isPending}>
            {words.previewAgain}
          </Button>
        ) : (
          !nothing && (
            <Button
              loading={apply.isPending}
              onClick={() => planned.plan_id !== undefined && apply.mutate(planned.plan_id)}
              {...(spec.destructive === true ? { color: 'red.8' } : {})}
            >
              {words.apply(operations.names[kind] ?? kind)}
            </Button>
          )
        )}
      </div>
    </Stack>
  )
}

/** What was wrong with fields that have not been touched since. */
function stillWrong(found: FormErrors, before: FormValues, after: FormValues): FormErrors {
  return Object.fromEntries(Object.entries(found).filter(([name]) => before[name] === after[name]))
}

function useAskOnce(wanted: boolean, ask: () => void): void {
  const asked = useRef(false)
  useEffect(() => {
    if (!wanted || asked.current) return
    asked.current = true
    ask()
  })
}

/** Refusals of the service that name a field of the form. */
function placeErrors(error: ApiError, fields: readonly { readonly name: string }[]): FormErrors {
  const known = error.errors.filter(({ path }) => fields.some(({ name }) => name === path))
  return Object.fromEntries(known.map(({ path, message }) => [path, message]))
}
