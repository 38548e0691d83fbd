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
import { testConfig } from '../api.ts'
import { CatalogConfirm } from './confirm.tsx'
import { ConnectionTestResult } from './connection-test.tsx'
import { EDITED, type EditedCatalog } from './edited.ts'
import { CatalogFields } from './fields.tsx'
import { catalogChanges, toForm, toRequest } from './form.ts'
import { catalogSchema } from './schema.ts'
import classes from '../settings.module.css'

interface CatalogEditorProps {
  readonly kind: EditedCatalog
  readonly current: TaggedConfig
  /** Closes the form, after a change or without one. Undefined: the form stays open. */
  readonly onClose?: (() => void) | undefined
}

/** A catalog as a form; changes are shown and confirmed before they are sent, a new catalog is sent at once. */
export function CatalogEditor({ kind, current, onClose }: CatalogEditorProps) {
  const [base, setBase] = useState(current)
  const [isConfirming, setConfirming] = useState(false)
  const test = useAction({ send: testConfig })
  const schema = catalogSchema(base.config)
  const { words, nameHelp, isNew } = EDITED[kind]
  const { form, submit } = useRequestForm({
    initialValues: toForm(current.config),
    schema,
    onChange: () => test.reset(), // its result is about other values
    onRequest: (request) => {
      save.reset()
      if (isNew) save.mutate({ request, tag: null })
      else setConfirming(true)
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
  const onSaved = (saved: TaggedConfig): void => {
    start(saved)
    onClose?.()
  }
  const save = useSaveCatalog({ kind, onSaved, onEnd: () => setConfirming(false) })
  return (
    <>
      <form className={classes.form} noValidate onSubmit={submit}>
        <SaveProblem kind={kind} error={save.error} onUseCurrent={() => start(current)} />
        <CatalogFields form={form} nameHelp={nameHelp} isNameFixed={kind === 'other'} />
        <EditorButtons
          isNew={isNew}
          isChanged={changes.length > 0}
          isSaving={save.isPending}
          isTesting={test.isPending}
          onReset={() => start(current)}
          onTest={testValues}
          onClose={onClose}
        />
        <ConnectionTestResult test={test} />
      </form>
      {/* not inside of the form: what is submitted in a dialog would be submitted here too */}
      <CatalogConfirm
        words={words(base.config.catalog_name ?? '')}
        changes={changes}
        opened={isConfirming}
        action={save}
        onClose={() => setConfirming(false)}
        onConfirm={() => save.mutate({ request, tag: base.tag })}
      />
    </>
  )
}

interface EditorButtonsProps extends Pick<CatalogEditorProps, 'onClose'> {
  readonly isNew: boolean
  readonly isChanged: boolean
  readonly isSaving: boolean
  readonly isTesting: boolean
  readonly onReset: () => void
  readonly onTest: () => void
}

function EditorButtons({ isNew, isChanged, isSaving, isTesting, ...on }: EditorButtonsProps) {
  return (
    <Group gap="xs">
      <Button type="submit" disabled={!isNew && !isChanged} loading={isNew && isSaving}>
        {isNew ? strings.saveNew : strings.save}
      </Button>
      {!isNew && (
        <Button variant="subtle" disabled={!isChanged} onClick={on.onReset}>
          {strings.reset}
        </Button>
      )}
      <Button variant="default" loading={isTesting} onClick={on.onTest}>
        {strings.test.action}
      </Button>
      {on.onClose && (
        <Button variant="subtle" onClick={on.onClose}>
          {strings.closeForm}
        </Button>
      )}
    </Group>
  )
}

interface SaveHandlers {
  readonly kind: EditedCatalog
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
function useSaveCatalog({ kind, onSaved, onEnd }: SaveHandlers) {
  const { send, said } = EDITED[kind]
  return useAction({
    send: ({ request, tag }: SaveRequest) => send(request, tag),
    said,
    onDone: ({ affected, saved }) => {
      onSaved(saved)
      onEnd()
      if (affected.length > 0) {
        notifications.show({ color: 'yellow', autoClose: false, message: strings.affected(affected.join(', ')) })
      }
      if (kind === 'default') {
        queryClient.clear()
        queryClient.setQueryData(configQuery.queryKey, saved)
        void queryClient.refetchQueries()
      } else {
        void queryClient.invalidateQueries()
      }
    },
    onError: (error) => {
      onEnd()
      if (hasCode(error, 'PRECONDITION_FAILED')) void refresh('config')
    },
  })
}

interface SaveProblemProps {
  readonly kind: EditedCatalog
  readonly error: unknown
  readonly onUseCurrent: () => void
}

/** Why the new catalog could not be used; the form keeps its values. */
function SaveProblem({ kind, error, onUseCurrent }: SaveProblemProps) {
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
    <Notice tone="bad" title={EDITED[kind].failed} role="alert">
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
