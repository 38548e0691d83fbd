import { Button, Group, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useCan } from '../../api/session.ts'
import { Note } from '../../components/note.tsx'
import { Page } from '../../components/page.tsx'
import { errorText, Forbidden } from '../../components/states.tsx'
import { common } from '../../strings/common.ts'
import { pipelines as words } from '../../strings/pipelines.ts'
import { useSearchParams } from '../../use-search-params.ts'
import { pipelineQuery, useStartPipeline } from './api.ts'
import classes from './pipelines.module.css'
import {
  checkStartForm,
  EMPTY_START_FORM,
  type FieldErrors,
  fieldErrorsOf,
  type StartForm,
  toStartForm,
  toStartRequest,
} from './start-form.ts'
import { StartFields } from './start-fields.tsx'

const NEEDED_ROLE = 'DataEngineer'

/** The form that starts a pipeline; `?like=` fills it in as a pipeline was started, `?version=` with a version. */
export function StartPipelinePage() {
  const canStart = useCan(NEEDED_ROLE)
  const [{ like }] = useSearchParams()
  const known = useQuery({ ...pipelineQuery(like ?? ''), enabled: like !== undefined })
  const isReady = like === undefined || known.data !== undefined || known.isError
  return (
    <Page title={words.form.title} lead={words.form.lead} crumbs={[{ label: words.title, to: '/pipelines' }]}>
      {!canStart && <Forbidden role={NEEDED_ROLE} />}
      {canStart && isReady && <StartPipelineForm initial={known.data ? toStartForm(known.data) : undefined} />}
    </Page>
  )
}

function StartPipelineForm({ initial }: { readonly initial: StartForm | undefined }) {
  const [{ definition, version, source }] = useSearchParams()
  const [form, setForm] = useState<StartForm>(
    () =>
      initial ?? {
        ...EMPTY_START_FORM,
        sourceTable: source ?? '',
        ...(definition === undefined ? {} : { mode: 'version', definitionId: definition, versionId: version ?? '' }),
      },
  )
  const [errors, setErrors] = useState<FieldErrors>({})
  const start = useStartPipeline()
  const navigate = useNavigate()
  const refusal = start.error instanceof ApiError ? fieldErrorsOf(start.error.errors) : undefined
  const shown = { ...refusal?.fields, ...errors }
  const refused = Object.keys(refusal?.fields ?? {})
  const isAllAtFields =
    refused.length > 0 && refusal?.rest.length === 0 && refused.every((field) => isShown(field, form.mode))

  const submit = (event: FormEvent): void => {
    event.preventDefault()
    start.reset()
    const found = checkStartForm(form, words.form.rules)
    setErrors(found)
    if (Object.keys(found).length > 0) {
      focusFirst(event.currentTarget)
      return
    }
    const { currentTarget } = event
    start.mutate(toStartRequest(form), {
      onError: () => focusFirst(currentTarget),
      onSuccess: ({ id }) => {
        notifications.show({ message: words.form.started })
        void navigate({ to: '/pipelines/$id', params: { id } })
      },
    })
  }
  const change = (part: Partial<StartForm>): void => {
    setForm((before) => ({ ...before, ...part }))
    setErrors({})
    if (start.isError) start.reset()
  }
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <StartFields form={form} errors={shown} onChange={change} />
      <Stack gap="sm">
        {start.isError && (
          <Note tone="bad" live="alert" title={words.form.refused}>
            {isAllAtFields ? words.form.seeFields : [errorText(start.error), ...(refusal?.rest ?? [])].join(' ')}
          </Note>
        )}
        <Group gap="xs">
          <Button type="submit" loading={start.isPending}>
            {words.form.submit}
          </Button>
          <Button variant="default" component={Link} to="/pipelines">
            {common.cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Whether a form of this mode has the field, so that a refusal can stand there. */
function isShown(field: string, mode: StartForm['mode']): boolean {
  return mode === 'copy' ? field !== 'version_id' : !field.endsWith('_table')
}

/** The first field that is wrong gets the focus, when the errors are drawn. */
function focusFirst(form: EventTarget & Element): void {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
}
