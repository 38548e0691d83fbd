import { Button, Group } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { configQuery, type TaggedConfig } from '../../api/catalog-config.ts'
import { ApiError, hasCode } from '../../api/api-error.ts'
import { Notice } from '../../components/notice.tsx'
import { errorText } from '../../components/states.tsx'
import { catalogStrings as strings } from '../../strings/settings.ts'
import { setConfig } from './api.ts'
import { CatalogConfirm } from './catalog-confirm.tsx'
import { CatalogFields } from './catalog-fields.tsx'
import { catalogChanges, checkDraft, toDraft, toRequest } from './catalog-form.ts'
import classes from './settings.module.css'

/** The catalog as a form: what changes is shown and confirmed before it is sent. */
export function CatalogEditor({ current }: { readonly current: TaggedConfig }) {
  const client = useQueryClient()
  const [base, setBase] = useState(current)
  const [draft, setDraft] = useState(() => toDraft(current.config))
  const [isChecked, setChecked] = useState(false)
  const [isConfirming, setConfirming] = useState(false)
  const request = toRequest(draft)
  const changes = catalogChanges(base.config, request)
  const problems = checkDraft(draft, base.config, strings.problems)
  const start = (from: TaggedConfig): void => {
    setBase(from)
    setDraft(toDraft(from.config))
    setChecked(false)
  }
  const save = useMutation({
    mutationFn: () => setConfig(request, base.tag),
    onSuccess: ({ affected, saved }) => {
      start(saved)
      notifications.show({ message: strings.saved })
      if (affected.length > 0) {
        notifications.show({ color: 'yellow', autoClose: false, message: strings.affected(affected.join(', ')) })
      }
      client.clear()
      client.setQueryData(configQuery.queryKey, saved)
      void client.refetchQueries()
    },
    onError: (error) => {
      if (hasCode(error, 'PRECONDITION_FAILED')) void client.invalidateQueries({ queryKey: configQuery.queryKey })
    },
    onSettled: () => setConfirming(false),
  })
  const review = (): void => {
    save.reset()
    setChecked(true)
    if (problems.size === 0) setConfirming(true)
  }
  return (
    <>
      <form
        className={classes.form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          review()
        }}
      >
        <SaveProblem error={save.error} onUseCurrent={() => start(current)} />
        <CatalogFields draft={draft} problems={isChecked ? problems : NO_PROBLEMS} onChange={setDraft} />
        <Group gap="xs">
          <Button type="submit" disabled={changes.length === 0}>
            {strings.save}
          </Button>
          <Button variant="subtle" disabled={changes.length === 0} onClick={() => start(current)}>
            {strings.reset}
          </Button>
        </Group>
      </form>
      {/* not inside of the form: what is submitted in a dialog would be submitted here too */}
      <CatalogConfirm
        changes={changes}
        opened={isConfirming}
        busy={save.isPending}
        onClose={() => setConfirming(false)}
        onConfirm={() => save.mutate()}
      />
    </>
  )
}

const NO_PROBLEMS: ReadonlyMap<string, string> = new Map()

interface SaveProblemProps {
  readonly error: unknown
  readonly onUseCurrent: () => void
}

/** Why a catalog was not taken over; the form keeps what was typed. */
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
