import { Button, Group, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../../api/api-error.ts'
import { useCan } from '../../../api/session.ts'
import type { StartPipelineRequest } from '../../../api/types.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { MissingSink } from '../../../components/sink-table/missing-sink.tsx'
import { Note } from '../../../components/status/note.tsx'
import { Page } from '../../../components/page/page.tsx'
import { errorText, Forbidden } from '../../../components/status/states.tsx'
import { common } from '../../../strings/everywhere/common.ts'
import { pipelines as words } from '../../../strings/pipelines/pipelines.ts'
import { useSearchParams } from '../../../use-search-params.ts'
import { pipelineQuery, runnableQuery, startPipeline, versionsQuery } from '../api.ts'
import classes from '../pipelines.module.css'
import { EMPTY_START_FORM, fieldErrorsOf, isShown, type StartForm, toStartForm } from './form.ts'
import { startSchema } from './schema.ts'
import { StartFields } from './fields.tsx'

const NEEDED_ROLE = 'DataEngineer'

/** The form that starts a pipeline. `?like=` takes the settings of another pipeline, `?version=` a version. */
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
  const [initialValues] = useState<StartForm>(
    () =>
      initial ?? {
        ...EMPTY_START_FORM,
        source_table: source ?? '',
        ...(definition === undefined ? {} : { mode: 'version', definition_id: definition, version_id: version ?? '' }),
      },
  )
  const start = useAction({ send: startPipeline, changes: ['pipelines'], said: words.form.started })
  const navigate = useNavigate()
  const { form, submit } = useRequestForm({
    initialValues,
    schema: startSchema,
    onRequest: send,
    onChange: () => {
      if (start.isError) start.reset()
    },
  })
  const isProposing = useIsProposing(form.values)
  const refusal = start.error instanceof ApiError ? fieldErrorsOf(start.error.errors) : undefined
  const refused = Object.keys(refusal?.fields ?? {})
  const isAllAtFields =
    refused.length > 0 && refusal?.rest.length === 0 && refused.every((field) => isShown(field, form.values))

  function send(request: StartPipelineRequest): void {
    start.mutate(request, {
      onError: (error) => {
        if (error instanceof ApiError) form.setErrors(fieldErrorsOf(error.errors).fields)
      },
      onSuccess: ({ id }) => void navigate({ to: '/pipelines/$id', params: { id } }),
    })
  }
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <StartFields form={form} />
      <Stack gap="sm">
        {start.isError && (
          <Note tone="bad" live="alert" title={words.form.refused}>
            {isAllAtFields ? words.form.seeFields : [errorText(start.error), ...(refusal?.rest ?? [])].join(' ')}
            <SinkOfVersion values={form.values} onMade={start.reset} />
          </Note>
        )}
        <Group gap="xs">
          <Button type="submit" loading={start.isPending || isProposing}>
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

/** The offer to create the sink of the chosen version. */
function SinkOfVersion({ values, onMade }: { readonly values: StartForm; readonly onMade: () => void }) {
  const { mode, definition_id: definitionId, version_id: versionId } = values
  const { data: versions = [] } = useQuery({
    ...versionsQuery(definitionId),
    enabled: mode === 'version' && definitionId !== '',
  })
  const environment = versions.find(({ id }) => id === versionId)?.environment
  if (mode !== 'version' || environment === undefined || environment === 'retired') return undefined
  return <MissingSink place={{ definitionId, versionId, environment }} onMade={onMade} />
}

/** Whether the checkpoint folder of a version is still to be proposed, which needs the list of definitions. */
function useIsProposing({ mode, definition_id: id, is_proposed: isProposed, checkpoint_location: at }: StartForm) {
  const { data: board, isLoading } = useQuery({ ...runnableQuery, enabled: mode === 'version' })
  const isKnown = board?.definitions.some((definition) => definition.id === id) === true
  return mode === 'version' && id !== '' && isProposed && at === '' && (isLoading || isKnown)
}
