import { Button, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { CreateWebhookRequest } from '../../../api/types.ts'
import { useRequestForm } from '../../../components/form/use-request-form.ts'
import { Notice } from '../../../components/status/notice.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { common } from '../../../strings/shared/common.ts'
import { settingsStrings, webhookStrings } from '../../../strings/settings.ts'
import { createWebhook, webhooksQuery } from '../api.ts'
import { SecretField, SecretText } from '../secret-field.tsx'
import { webhookSchema } from './webhook-schema.ts'

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
  const { form, submit } = useRequestForm({
    initialValues: { url: '', types: 'approval.*' },
    schema: webhookSchema,
    onRequest: onSubmit,
  })
  return (
    <form noValidate onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={strings.url}
          description={strings.urlHelp}
          required
          data-autofocus
          type="url"
          {...form.getInputProps('url')}
        />
        <Textarea
          label={strings.types}
          description={strings.typesHelp}
          autosize
          minRows={2}
          {...form.getInputProps('types')}
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
