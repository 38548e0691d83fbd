import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { configQuery, type TaggedConfig } from '../../../api/catalog-config.ts'
import { ApiError, hasCode } from '../../../api/api-error.ts'
import { queryClient } from '../../../api/query-client.ts'
import { refresh } from '../../../api/actions/refresh.ts'
import { useAction } from '../../../api/actions/use-action.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { catalogStrings as strings } from '../../../strings/settings.ts'
import { setConfig, testConfig } from '../api.ts'
import { CatalogConfirm } from './confirm.tsx'
import { ConnectionTestResult } from './connection-test.tsx'
import { CatalogFields } from './fields.tsx'
import { catalogChanges, toForm, toRequest } from './form.ts'
import { catalogSchema } from './schema.ts'
import classes from '../settings.module.css'

/** The catalog as a form; changes are shown and confirmed before they are sent. */
export function CatalogEditor({ current }: { readonly current: TaggedConfig }) {
  const [base, setBase] = useState(current)
  const [isConfirming, setConfirming] = useState(false)
  const test = useAction({ send: testConfig })
  const schema = catalogSchema(base.config)
  const { form, submit } = useRequestForm({
    initialValues: toForm(current.config),
    schema,
    onChange: () => test.reset(), // its result is about other values
    onRequest: () => {
      save.reset()
      setConfirming(true)
    },
  })
  const request = toRequest(form.values)
  const changes = catalogChanges(base.config, request)
  const start = (from: TaggedConfig): void => {
    setBase(from)
    form.setValues(toForm(from.config))
    form.clearErrors()
  }
  const testValues = (): void => {
    if (!form.validate().hasErrors) test.mutate(schema.parse(form.values))
  }
  const save = useSaveCatalog({ onSaved: start, onEnd: () => setConfirming(false) })
  return (
    <>
      <form className={classes.form} noValidate onSubmit={submit}>
        <SaveProblem error={save.error} onUseCurrent={() => start(current)} />
        <CatalogFields form={form} />
        <Group gap="xs">
          <Button type="submit" disabled={changes.length === 0}>
            {strings.save}
          </Button>
          <Button variant="subtle" disabled={changes.length === 0} onClick={() => start(current)}>
            {strings.reset}
          </Button>
          <Button variant="default" loading={test.isPending} onClick={testValues}>
            {strings.test.action}
          </Button>
        </Group>
        <ConnectionTestResult test={test} />
      </form>
      {/* not inside of the form: what is submitted in a dialog would be submitted here too */}
      <CatalogConfirm
        changes={changes}
        opened={isConfirming}
        action={save}
        onClose={() => setConfirming(false)}
        onConfirm={() => save.mutate({ request, tag: base.tag })}
      />
    </>
  )
}

interface SaveHandlers {
  readonly onSaved: (saved: TaggedConfig) => void
  /** Called after a success or refusal. */
  readonly onEnd: () => void
}

interface SaveRequest {
  readonly request: ReturnType<typeof toRequest>
  /** Version of the configuration that the form was filled with. */
  readonly tag: TaggedConfig['tag']
}

/** Saves the catalog, then reloads all data: it may come from other tables now. */
function useSaveCatalog({ onSaved, onEnd }: SaveHandlers) {
  return useAction({
    send: ({ request, tag }: SaveRequest) => setConfig(request, tag),
    said: strings.saved,
    onDone: ({ affected, saved }) => {
      onSaved(saved)
      onEnd()
      if (affected.length > 0) {
        notifications.show({ color: 'yellow', autoClose: false, message: strings.affected(affected.join(', ')) })
      }
      queryClient.clear()
      queryClient.setQueryData(configQuery.queryKey, saved)
      void queryClient.refetchQueries()
    },
    onError: (error) => {
      onEnd()
      if (hasCode(error, 'PRECONDITION_FAILED')) void refresh('config')
    },
  })
}

interface SaveProblemProps {
  readonly error: unknown
  readonly onUseCurrent: () => void
}

/** Why the new catalog could not be used; the form keeps its values. */
function SaveProblem({ error, onUseCurrent }: SaveProblemProps) {
  if (!error) return undefined
  if (hasCode(error, 'PRECONDITION_FAILED')) {
    return (
      <Notice tone="warn" title={strings.changedTitle} role="alert">
        {strings.changedText}{' '}
        <Button variant="default" mt="xs" display="block" onClick={onUseCurrent}>
          {strings.useCurrent}
        </Button>
      </Notice>
    )
  }
  const fields = error instanceof ApiError ? error.errors : []
  return (
    <Notice tone="bad" title={strings.failedTitle} role="alert">
      {errorText(error)}
      {fields.length > 0 ? (
        <ul className={classes.fieldErrors}>
          {fields.map(({ path, message }) => (
            <li key={path}>{strings.fieldError(path, message)}</li>
          ))}
        </ul>
      ) : undefined}
    </Notice>
  )
}
