import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, hasCode } from '../../api/api-error.ts'
import type { EnvironmentSettings, SetEnvironmentRequest } from '../../api/types.ts'
import { useRequestForm } from '../../components/form/use-request-form.ts'
import { Notice } from '../../components/status/notice.tsx'
import { errorText } from '../../components/status/states.tsx'
import { common } from '../../strings/everywhere/common.ts'
import { environmentForm as words, environments } from '../../strings/environments.ts'
import { environmentsQuery, setEnvironment } from './api.ts'
import { ConflictNotice } from './conflict-notice.tsx'
import { EnvironmentFields } from './environment-fields.tsx'
import { changedMembers, type ParameterRow, rebase, toForm } from './form.ts'
import { environmentSchema } from './schema.ts'
import classes from './environments.module.css'

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
    <form className={classes.form} noValidate onSubmit={submit}>
      <EnvironmentFields form={form} />
      {isConflict && <ConflictNotice base={base} current={current} onReload={reload} />}
      {save.error && !isConflict ? (
        <Notice tone="bad" title={words.failed} role="alert">
          {errorText(save.error)}
        </Notice>
      ) : undefined}
      {isRebased && !save.error && <Notice tone="info">{words.conflict.kept}</Notice>}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" disabled={save.isPending} onClick={onClose}>
          {common.cancel}
        </Button>
        <Button type="submit" loading={save.isPending} disabled={isConflict}>
          {words.save}
        </Button>
      </Group>
    </form>
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
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ base, change }: Change) => setEnvironment(base, change),
    onSuccess: ({ environment }) => {
      notifications.show({ message: words.saved(environments[environment]) })
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: environmentsQuery.queryKey }),
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
