import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { ApiError, hasCode } from '../../api/api-error.ts'
import type { EnvironmentSettings, SetEnvironmentRequest } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { DialogForm } from '../../components/form/dialog-form.tsx'
import { useRequestForm } from '../../components/form/use-request-form.ts'
import { ErrorNotice } from '../../components/status/error-notice.tsx'
import { Notice } from '../../components/status/notice.tsx'
import { environmentForm as words, environments } from '../../strings/environments.ts'
import { setEnvironment } from './api.ts'
import { ConflictNotice } from './conflict-notice.tsx'
import { EnvironmentFields } from './environment-fields.tsx'
import { changedMembers, type ParameterRow, rebase, toForm } from './form.ts'
import { environmentSchema } from './schema.ts'

interface EditorProps {
  /** The settings as they are now; the form began with those of its opening. */
  readonly current: EnvironmentSettings
  readonly onClose: () => void
}

/** The form of an environment. */
export function EnvironmentEditor({ current, onClose }: EditorProps) {
  const [base, setBase] = useState(current)
  const [isRebased, setRebased] = useState(false)
  const save = useSave(onClose)
  const { form, submit } = useRequestForm({
    initialValues: toForm(current),
    schema: environmentSchema,
    onRequest: (request) => {
      const change = changedMembers(base, request)
      if (change === undefined) return unchanged(onClose)
      save.mutate({ base, change }, { onError: (error) => form.setErrors(fieldErrors(error, form.values.parameters)) })
    },
  })
  const reload = (keeps: boolean): void => {
    form.setValues(keeps ? rebase(form.values, toForm(base), toForm(current)) : toForm(current))
    form.clearErrors()
    setBase(current)
    setRebased(keeps)
    save.reset()
  }
  const isConflict = hasCode(save.error, 'PRECONDITION_FAILED')
  return (
    <DialogForm
      action={save}
      submitLabel={words.save}
      canSubmit={!isConflict}
      onSubmit={submit}
      onCancel={onClose}
      failure={
        isConflict ? (
          <ConflictNotice base={base} current={current} onReload={reload} />
        ) : (
          <ErrorNotice error={save.error} title={words.failed} />
        )
      }
    >
      <EnvironmentFields form={form} />
      {isRebased && !save.error && <Notice tone="info">{words.conflict.kept}</Notice>}
    </DialogForm>
  )
}

function unchanged(onClose: () => void): void {
  notifications.show({ message: words.unchanged })
  onClose()
}

interface Change {
  readonly base: EnvironmentSettings
  readonly change: SetEnvironmentRequest
}

function useSave(onClose: () => void) {
  return useAction({
    send: ({ base, change }: Change) => setEnvironment(base, change),
    changes: ['environments'],
    said: ({ environment }) => words.saved(environments[environment]),
    onDone: onClose,
  })
}

/** What the service refuses, by the field of the form; the path of a parameter is `parameters.<name>`. */
function fieldErrors(error: unknown, rows: readonly ParameterRow[]): Readonly<Record<string, string>> {
  const errors = error instanceof ApiError ? error.errors : []
  const messages = new Map(errors.map(({ path, message }) => [path, message]))
  const rules = errors.flatMap(({ path, message }) =>
    /^(approvals|windows|rollback_if)\b/.test(path) ? [[path.replace(/\.dates\.\d+$/, '.dates'), message]] : [],
  )
  return Object.fromEntries([
    ...rules,
    ...rows.flatMap(({ name }, index) => {
      const message = messages.get(`parameters.${name.trim()}`)
      return message === undefined ? [] : [[`parameters.${index}.value`, message]]
    }),
  ])
}
