import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreateWebhookRequest } from '../../api/types.ts'
import { Notice } from '../../components/notice.tsx'
import { errorText } from '../../components/states.tsx'
import { common } from '../../strings/common.ts'
import { settingsStrings, webhookStrings } from '../../strings/settings.ts'
import { createWebhook, webhooksQuery } from './api.ts'
import { SecretField, SecretText } from './secret-field.tsx'
import { readWebhookForm } from './webhook-form.ts'

const strings = webhookStrings.form

interface NewWebhookProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Adds a webhook and shows its secret, once. */
export function NewWebhook({ opened, onClose }: NewWebhookProps) {
  const client = useQueryClient()
  const create = useMutation({
    mutationFn: (request: CreateWebhookRequest) => createWebhook(request),
    onSuccess: () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
    gcTime: 0, // the secret stays no longer than the dialog
  })
  const close = (): void => {
    create.reset()
    onClose()
  }
  const isMade = create.data !== undefined
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={isMade ? webhookStrings.made.title : strings.title}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={!isMade}
      closeOnEscape={!isMade}
    >
      {create.data ? (
        <Stack gap="sm">
          <SecretText>{webhookStrings.made.text}</SecretText>
          <SecretField label={webhookStrings.made.secret} value={create.data.secret} />
          <Group justify="flex-end">
            <Button onClick={close}>{webhookStrings.made.done}</Button>
          </Group>
        </Stack>
      ) : (
        <WebhookForm isBusy={create.isPending} error={create.error} onCancel={close} onSubmit={create.mutate} />
      )}
    </Modal>
  )
}

interface WebhookFormProps {
  readonly isBusy: boolean
  readonly error: unknown
  readonly onCancel: () => void
  readonly onSubmit: (request: CreateWebhookRequest) => void
}

function WebhookForm({ isBusy, error, onCancel, onSubmit }: WebhookFormProps) {
  const [url, setUrl] = useState('')
  const [types, setTypes] = useState('approval.*')
  const [isChecked, setChecked] = useState(false)
  const draft = readWebhookForm(url, types)
  const problem = isChecked && draft.kind === 'problem' ? draft : undefined
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setChecked(true)
        if (draft.kind === 'request') onSubmit(draft.request)
      }}
    >
      <Stack gap="sm">
        <TextInput
          label={strings.url}
          description={strings.urlHelp}
          required
          data-autofocus
          type="url"
          value={url}
          error={problem?.isUrlBad === true ? strings.urlProblem : undefined}
          onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        />
        <Textarea
          label={strings.types}
          description={strings.typesHelp}
          autosize
          minRows={2}
          value={types}
          error={problem?.badType === undefined ? undefined : strings.typesProblem(problem.badType)}
          onChange={({ currentTarget }) => setTypes(currentTarget.value)}
        />
        {error ? (
          <Notice tone="bad" role="alert">
            {errorText(error)}
          </Notice>
        ) : undefined}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel} disabled={isBusy}>
            {settingsStrings.cancel}
          </Button>
          <Button type="submit" loading={isBusy}>
            {strings.submit}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
