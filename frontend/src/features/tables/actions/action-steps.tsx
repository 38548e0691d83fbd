import { Button, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type RefObject, useEffect, useRef } from 'react'
import { OPERATIONS } from '../../../../../src/domain/tables/operations.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { serverErrors } from '../../../components/form/form-schema.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { ErrorNotice } from '../../../components/status/error-notice.tsx'
import { Notice } from '../../../components/status/notice.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { actions as words } from '../../../strings/table-actions.ts'
import { applyPlan, overviewQuery, previewAction } from '../api.ts'
import classes from './action-drawer.module.css'
import { Impact } from '../../lineage/impact.tsx'
import { ActionForm } from './action-form.tsx'
import { type ActionRequest, actionSchema } from './action-schema.ts'
import { type ActionKind, ACTIONS } from './action-specs.ts'
import { changedColumn, changesReaders } from './changed-column.ts'
import { effectiveDefaults } from './effective-defaults.ts'
import { useFocusAtStep } from './drawer-focus.ts'
import type { FormValues } from './form-values.ts'
import { type PlanToApply, PreviewStep } from './preview-step.tsx'

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

/** The options of an action, then a preview of its effect, then the button that applies exactly that. */
export function ActionSteps({ note, ...props }: ActionStepsProps) {
  const { table, kind } = props
  const { form, submit, preview, apply, ask } = useSteps(props)
  const properties = useQuery(overviewQuery(table)).data?.properties ?? {}
  const impact = changesReaders(kind) && <Impact table={table} column={changedColumn(kind, form.values)} />
  if (preview.data) {
    return (
      <>
        <PreviewStep
          kind={kind}
          plan={preview.data}
          isPreviewing={preview.isPending}
          apply={apply}
          onBack={preview.reset}
          onPreviewAgain={ask}
        />
        {impact}
      </>
    )
  }
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="sm">
        {note !== undefined && <Notice tone="info">{note}</Notice>}
        <ActionForm
          table={table}
          fields={ACTIONS[kind].fields}
          defaults={effectiveDefaults(kind, properties, form.values)}
          values={form.values}
          errors={form.errors}
          onChange={(field, value) => form.setFieldValue(field, value)}
        />
        <ErrorNotice error={preview.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={preview.isPending}>
            {words.preview}
          </Button>
        </div>
        {impact}
      </Stack>
    </form>
  )
}

/** The form, its preview and the operation, with the focus at the current step. */
function useSteps({ drawer, table, kind, initial, previewAtOnce, onStarted }: Omit<ActionStepsProps, 'note'>) {
  const { path } = OPERATIONS[kind].request
  const fieldNames = ACTIONS[kind].fields.map(({ name }) => name)
  const zone = useZone()
  const preview = useAction({
    send: (request: ActionRequest) => previewAction(path, request),
    onError: (error) => form.setErrors(serverErrors(error, fieldNames)),
  })
  const apply = useAction({
    send: ({ planId, accepted }: PlanToApply) => applyPlan(path, { table, ...preview.variables, ...accepted }, planId),
    onDone: ({ operation_id }) => onStarted(operation_id),
  })
  const { form, submit } = useRequestForm({
    initialValues: initial,
    schema: actionSchema(kind, table, zone),
    onRequest: (request) => {
      apply.reset()
      preview.mutate(request)
    },
  })
  const ask = (): void => submit()
  useAskOnce(previewAtOnce, ask)
  useFocusAtStep(drawer, `${preview.status} ${apply.status}`)
  return { form, submit, preview, apply, ask }
}

function useAskOnce(wanted: boolean, ask: () => void): void {
  const asked = useRef(false)
  useEffect(() => {
    if (!wanted || asked.current) return
    asked.current = true
    ask()
  })
}
